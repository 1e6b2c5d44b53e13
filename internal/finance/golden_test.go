package finance

import (
	"encoding/csv"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

func sample(t *testing.T) *Report {
	t.Helper()
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join("..", "..", "config", "samples", "data", name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	entries, err := ParseLedger(read("ledger.csv"))
	if err != nil {
		t.Fatal(err)
	}
	lines, err := ParseBank(read("bank.csv"))
	if err != nil {
		t.Fatal(err)
	}
	return Reconcile(entries, lines, Options{})
}

func TestSampleGolden(t *testing.T) {
	r := sample(t)
	r.Postings = r.Plan(nil)
	for name, got := range map[string]string{"report.md": r.Markdown(), "report.csv": r.CSV(), "summary.txt": r.Summary() + "\n"} {
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s changed; run the test with -update and look at the difference", name)
		}
	}
}

func TestCSVAddsUpToTheGap(t *testing.T) {
	r := sample(t)
	if sum := differences(t, r); sum != r.Gap() {
		t.Errorf("differences add up to %v, the gap is %v", sum, r.Gap())
	}
}

// Texts come from whoever wrote the tables: they must stay texts in a spreadsheet and in Markdown.
func TestTextsStayTexts(t *testing.T) {
	evil := posted("=L1", 1, "=HYPERLINK(\"x\")", "-2+3", -100)
	evil.Description = "a|b\n# [c](d) <img>"
	r := Reconcile([]Entry{evil}, nil, Options{})
	records, err := csv.NewReader(strings.NewReader(r.CSV())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if got := records[1]; got[1] != "'=L1" || got[4][0] != '\'' || got[5] != "'-2+3" || got[6] != "-1.00" {
		t.Errorf("row %q", got)
	}
	md := r.Markdown()
	if strings.Contains(md, "\n# [") || !strings.Contains(md, `a\|b # \[c\](d) \<img>`) {
		t.Errorf("Markdown:\n%s", md)
	}
}

func TestNothingFound(t *testing.T) {
	r := Reconcile([]Entry{posted("1", 1, "Elbtal", "INV-1", 100)}, []Line{booked("1", 1, "Elbtal", "INV-1", 100)}, Options{})
	if r.Findings() != 0 || !strings.Contains(r.Markdown(), "Nothing was found") || strings.Contains(r.Markdown(), "##") {
		t.Errorf("report:\n%s", r.Markdown())
	}
}
