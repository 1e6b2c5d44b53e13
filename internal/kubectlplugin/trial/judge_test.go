// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"encoding/json"
	"testing"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

func answered(id, contextID string, history ...string) outbox.Exchange {
	return outbox.Exchange{Outcome: outbox.Accepted, Task: &outbox.Task{ID: id, ContextID: contextID, History: history}}
}

func TestJudge(t *testing.T) {
	reply := "42"
	replied, lost := outbox.Exchange{Outcome: outbox.Accepted, Reply: &reply}, outbox.Exchange{Outcome: outbox.Ambiguous, Reason: "ResponseLost"}
	several := answered("t", "c", "m")
	several.Others = []string{"u"}
	refused := outbox.Exchange{Outcome: outbox.Refused, Reason: "InvalidParams"}
	for _, c := range []struct {
		name                            string
		e                               Evidence
		dedup, history, context, lookup Answer
		contract                        string
	}{
		{"all is well", Evidence{First: answered("t", "c"), Second: answered("t", "c"), Look: answered("t", "c", "m"), Found: answered("t", "c"), Lists: true},
			Yes, Yes, Yes, Yes, `{"contextId":"Client","deduplication":{"mode":"MessageID","retention":"1h"},"taskLookup":{"mode":"BestEffort"}}`},
		{"two tasks", Evidence{First: answered("t", "c"), Second: answered("u", "c"), Look: answered("t", "c"), Found: several, Lists: true},
			No, No, Yes, Yes, `{"contextId":"Client","deduplication":{"mode":"None"},"taskLookup":{"mode":"BestEffort"}}`},
		{"a second task is listed only", Evidence{First: answered("t", "c"), Second: answered("t", "c"), Look: answered("t", "c", "m"), Found: several, Lists: true},
			No, Yes, Yes, Yes, `{"contextId":"Client","deduplication":{"mode":"None"},"taskLookup":{"mode":"BestEffort"}}`},
		{"twice in one task", Evidence{First: answered("t", "c"), Second: answered("t", "c"), Look: answered("t", "c", "m", "m")},
			No, Yes, Yes, No, `{"contextId":"Client","deduplication":{"mode":"None"},"taskLookup":{"mode":"None"}}`},
		{"the agent names contexts", Evidence{First: answered("t", "its"), Second: answered("t", "its"), Look: answered("t", "its", "m"), Found: refused, Lists: true},
			Yes, Yes, No, No, `{"contextId":"Server","deduplication":{"mode":"MessageID","retention":"1h"},"taskLookup":{"mode":"None"}}`},
		{"contextIds are refused", Evidence{ContextRefused: &refused, First: answered("t", "its"), Second: answered("t", "its"), Look: answered("t", "its"), Found: lost, Lists: true},
			Open, No, No, Open, `{"contextId":"Server"}`},
		{"one task for a context, which shows no history", Evidence{First: answered("t", "c"), Second: answered("t", "c"), Look: answered("t", "c"), Found: answered("t", "c"), Lists: true},
			Open, No, Yes, Yes, `{"contextId":"Client","taskLookup":{"mode":"BestEffort"}}`},
		{"one task, which can't be looked at", Evidence{First: answered("t", "c"), Second: answered("t", "c"), Look: lost, Found: lost, Lists: true},
			Open, Open, Yes, Open, `{"contextId":"Client"}`},
		{"replies", Evidence{First: replied, Second: replied, Lists: true}, Open, Open, Open, Open, `{}`},
		{"the first answer is lost", Evidence{First: lost, Second: answered("t", "c"), Look: answered("t", "c", "m"), Found: answered("t", "c"), Lists: true},
			Open, Yes, Yes, Yes, `{"contextId":"Client","taskLookup":{"mode":"BestEffort"}}`},
		{"the second is refused", Evidence{First: answered("t", "c"), Second: refused, Look: answered("t", "c", "m"), Found: outbox.Exchange{Outcome: outbox.Absent}, Lists: true},
			Open, Yes, Yes, Open, `{"contextId":"Client"}`},
	} {
		c.e.MessageID, c.e.ContextID = "m", "c"
		r := Judge(c.e)
		if r.Deduplicates.Answer != c.dedup || r.History.Answer != c.history || r.Context.Answer != c.context || r.Lookup.Answer != c.lookup {
			t.Errorf("%s: %+v", c.name, r)
		}
		contract, _ := r.Contract(v1alpha1.Contract{}, "1h")
		if text, err := json.Marshal(contract); err != nil || string(text) != c.contract {
			t.Errorf("%s: contract %s (%v), want %s", c.name, text, err, c.contract)
		}
	}
	promised := v1alpha1.Contract{TaskLookup: v1alpha1.TaskLookup{Mode: v1alpha1.LookupAuthoritative}}
	if contract, _ := (Report{Lookup: Verdict{Answer: Yes}}).Contract(promised, "1h"); len(contract) != 0 {
		t.Errorf("the owner's promise is taken back: %v", contract)
	}
}
