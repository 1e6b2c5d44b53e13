package finance

import (
	"errors"
	"testing"
)

func TestParseCents(t *testing.T) {
	for text, want := range map[string]Cents{
		"0.00": 0, "-0.01": -1, "1.50": 150, "-1234.56": -123456, "007.00": 700, "100000000000.00": maxCents,
	} {
		got, err := ParseCents(text)
		if err != nil || got != want {
			t.Errorf("ParseCents(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "-", "1", "1.5", "1.500", ".50", "1,50", "1.234,50", "1,234.50", "+1.00", "--1.00", "1e3.00",
		" 1.00", "1.-5", "٣.00", "100000000000.01", "9999999999999999999.00",
	} {
		if got, err := ParseCents(text); !errors.Is(err, ErrAmount) {
			t.Errorf("ParseCents(%q) = %d, %v; want ErrAmount", text, got, err)
		}
	}
}

func TestCentsString(t *testing.T) {
	for amount, want := range map[Cents]string{0: "0.00", 5: "0.05", -5: "-0.05", -123456: "-1234.56", maxCents: "100000000000.00"} {
		if got := amount.String(); got != want {
			t.Errorf("%d prints as %q, want %q", int64(amount), got, want)
		}
		if back, err := ParseCents(want); err != nil || back != amount {
			t.Errorf("%q reads as %d, %v", want, back, err)
		}
	}
}

func TestTransposed(t *testing.T) {
	for _, test := range []struct {
		a, b Cents
		want bool
	}{
		{124350, 142350, true},
		{-124350, -142350, true},
		{124350, 123450, true},
		{12, 21, true},
		{10, 1, true}, // 0.10 typed as 0.01
		{124350, 124350, false},
		{124350, -142350, false},
		{124350, 152340, false}, // digits that are not neighbours
		{124350, 214530, false}, // two pairs
		{124350, 124351, false},
		{5, 6, false},
		{99, 990, false},
	} {
		if got := Transposed(test.a, test.b); got != test.want {
			t.Errorf("Transposed(%v, %v) = %v", test.a, test.b, got)
		}
		if got := Transposed(test.b, test.a); got != test.want {
			t.Errorf("Transposed(%v, %v) = %v", test.b, test.a, got)
		}
	}
}
