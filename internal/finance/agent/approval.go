package agent

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/finance"
)

// HowToAnswer tells a sender how to answer the question about an unusual adjustment.
const HowToAnswer = `Answer a question about an unusual adjustment with "approve" or "reject", followed by "by" and your name if you like, ` +
	`or with a data part {"approve": true, "by": "your name"}.`

const (
	// askedAbout is the member of a question's metadata that holds the id of the posting asked about.
	askedAbout = "entryId"
	// maxName bounds a name in the report, and each of a posting's texts in a question, in bytes.
	maxName = 120
)

// approve asks about one adjustment after the other. Each question gets an answer of its own: nobody
// approves what they were not shown.
func approve(ctx context.Context, j *job) bool {
	unusual := []string{}
	for _, a := range j.report.Unusual() {
		if j.Approval {
			unusual = append(unusual, a.Entry.ID)
		}
	}
	decided, ok := perform(ctx, j, KindApprove, unusual, j.decisions)
	if !ok {
		return false
	}
	for i := range j.report.Adjustments {
		if decision, ok := decided[j.report.Adjustments[i].Entry.ID]; ok {
			j.report.Adjustments[i].Decision = &decision
		}
	}
	return true
}

// decisions are what the task's answers, and those of the revised tasks that worked on the same ledger,
// decided, by the posting's id. What was decided once is not asked again. The first that nobody decided ends the run.
func (j *job) decisions(unusual []string) (map[string]finance.Decision, bool) {
	all := maps.Clone(j.given.Decided)
	decide(j.history, all)
	decided := make(map[string]finance.Decision)
	for _, id := range unusual {
		decision, ok := all[id]
		if !ok {
			at := slices.IndexFunc(j.report.Adjustments, func(a finance.Adjustment) bool { return a.Entry.ID == id })
			return nil, j.ask(j.report.Adjustments[at].Entry)
		}
		decided[id] = decision
	}
	return decided, true
}

// ask ends the run with a question. When the last question was the same, its answer was not understood.
func (j *job) ask(e finance.Entry) bool {
	text := fmt.Sprintf("The posting %s of %s on account %s (%s, reference %s) is an unusual adjustment of %s. Approve it? ",
		clip(e.ID, maxName), e.Date.Format("2006-01-02"), clip(e.Account, maxName), clip(e.Description, maxName),
		clip(cmp.Or(e.Reference, "none"), maxName), e.Amount) +
		`Answer "approve" or "reject", as text or as data: {"approve": true, "by": "your name"}.`
	if j.lastAsked() == e.ID {
		text = "The answer was not understood. " + text
	}
	question := say(j, text)
	question.SetMeta(askedAbout, e.ID)
	j.emit(a2a.NewStatusUpdateEvent(j, a2a.TaskStateInputRequired, question))
	return false
}

// lastAsked is the id of the posting that the task asked about last, or "".
func (j *job) lastAsked() string {
	for _, msg := range slices.Backward(j.history) {
		if id := asked(msg); id != "" {
			return id
		}
	}
	return ""
}

// asked is the id of the posting that a message asks about, or "".
func asked(msg *a2a.Message) string {
	if msg == nil || msg.Role != a2a.MessageRoleAgent {
		return ""
	}
	id, _ := msg.Metadata[askedAbout].(string)
	return id
}

// decide pairs every question with the message after it.
func decide(history []*a2a.Message, decided map[string]finance.Decision) {
	open := ""
	for _, msg := range history {
		if id := asked(msg); id != "" {
			open = id
			continue
		}
		if open == "" || msg.Role != a2a.MessageRoleUser {
			continue
		}
		if decision, ok := readAnswer(msg); ok {
			decided[open] = decision
		}
		open = ""
	}
}

// readAnswer reads a decision from a message. Data parts with a boolean member approve outweigh text, which
// may then be a comment. Without them every text has to be a decision. Parts that contradict each other
// decide nothing.
func readAnswer(msg *a2a.Message) (finance.Decision, bool) {
	var fromData, fromText []finance.Decision
	unclear := false
	for _, part := range msg.Parts {
		switch content := part.Content.(type) {
		case a2a.Data:
			if d, ok := dataAnswer(content.Value); ok {
				fromData = append(fromData, d)
			}
		case a2a.Text:
			d, ok := textAnswer(string(content))
			unclear = unclear || !ok
			fromText = append(fromText, d)
		}
	}
	found := fromData
	if len(found) == 0 {
		found = fromText
		if unclear || len(found) == 0 {
			return finance.Decision{}, false
		}
	}
	for _, d := range found[1:] {
		if d.Approved != found[0].Approved {
			return finance.Decision{}, false
		}
	}
	found[0].By = clip(cmp.Or(found[0].By, "the sender of "+msg.ID), maxName)
	return found[0], true
}

func dataAnswer(value any) (finance.Decision, bool) {
	members, _ := value.(map[string]any)
	approved, ok := members["approve"].(bool)
	by, _ := members["by"].(string)
	return finance.Decision{Approved: approved, By: strings.TrimSpace(by)}, ok
}

// answerText is strict, because a careless reading of "I can't approve this" would approve it.
var answerText = regexp.MustCompile(`(?i)^\s*(approved?|reject(?:ed)?)(?:\s*,?\s+by\s+(\S.*?))?[\s.!]*$`)

func textAnswer(text string) (finance.Decision, bool) {
	match := answerText.FindStringSubmatch(text)
	if match == nil {
		return finance.Decision{}, false
	}
	return finance.Decision{Approved: strings.EqualFold(match[1][:1], "a"), By: match[2]}, true
}
