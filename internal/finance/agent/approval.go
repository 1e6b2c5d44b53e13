package agent

import (
	"cmp"
	"context"
	"fmt"
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
func approve(_ context.Context, j *job) bool {
	if !j.Approval {
		return true
	}
	decided := j.decisions()
	for i := range j.report.Adjustments {
		a := &j.report.Adjustments[i]
		if !a.Unusual {
			continue
		}
		decision, ok := decided[a.Entry.ID]
		if !ok {
			return j.ask(a.Entry)
		}
		a.Decision = &decision
	}
	return true
}

// ask ends the run with a question. When the last question was the same, its answer was not understood.
func (j *job) ask(e finance.Entry) bool {
	text := fmt.Sprintf("The posting %s of %s on account %s (%s, reference %s) is an unusual adjustment of %s. Approve it? ",
		clip(e.ID, maxName), e.Date.Format("2006-01-02"), clip(e.Account, maxName), clip(e.Description, maxName),
		clip(cmp.Or(e.Reference, "none"), maxName), e.Amount) +
		`Answer "approve" or "reject", as text or as data: {"approve": true, "by": "your name"}.`
	if j.StoredTask != nil && asked(j.StoredTask.Status.Message) == e.ID {
		text = "The answer was not understood. " + text
	}
	question := say(j, text)
	question.SetMeta(askedAbout, e.ID)
	j.emit(a2a.NewStatusUpdateEvent(j, a2a.TaskStateInputRequired, question))
	return false
}

// asked is the id of the posting that a message asks about, or "".
func asked(msg *a2a.Message) string {
	if msg == nil || msg.Role != a2a.MessageRoleAgent {
		return ""
	}
	id, _ := msg.Metadata[askedAbout].(string)
	return id
}

// decisions are what the task's answers, and those of the revised tasks that worked on the same ledger,
// decided, by the posting's id. What was decided once is not asked again.
func (j *job) decisions() map[string]finance.Decision {
	decided := make(map[string]finance.Decision)
	for _, task := range slices.Backward(j.revised[:j.inputs.LedgerFrom]) { // the nearest has the last word
		decide(task.History, decided)
	}
	decide(j.history, decided)
	return decided
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
