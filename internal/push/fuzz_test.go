// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/delegation-dev/delegation-operator/internal/push"
	"github.com/delegation-dev/delegation-operator/internal/seen"
)

var stateForm = regexp.MustCompile(`^(TASK_STATE_[A-Z_]{1,48})?$`)

// FuzzPush requires that without the token no byte of a body is read, and that with it whatever is in the body has the task
// looked at once: nothing else follows from a push.
func FuzzPush(f *testing.F) {
	for _, b := range []string{
		body, ``, `null`, `[]`, `{"task":{"id":"t-1","status":{"state":"input-required","timestamp":"x"}}}`, `{"message":{"messageId":"m","taskId":"t-1"}}`,
		`{"artifactUpdate":{"taskId":"t-1","artifact":{}}}`, `{"id":"t-1","status":{"state":7}}`, `{"task":7,"statusUpdate":{"taskId":{}}}`, strings.Repeat(`[`, 1<<16),
	} {
		f.Add([]byte(b), "")
		f.Add([]byte(b), "not the token")
	}
	endless := push.NewLimits(push.Pace{PerSecond: 1e9, Burst: 1 << 30}, push.Pace{PerSecond: 1e9, Burst: 1 << 30}, time.Now)
	f.Fuzz(func(t *testing.T, body []byte, wrong string) {
		if len(body) > push.MaxBody {
			return
		}
		store, err := seen.NewMemory(plenty, time.Hour, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		var told []push.Event
		trigger := func(_ context.Context, _ types.UID, e push.Event) (push.Result, error) {
			told = append(told, e)
			return push.Hinted, nil
		}
		r := push.NewReceiver(tokens(t, 1), endless, store, trigger, func(push.Result) {})
		if left, status := offered(r, body, wrong); status != http.StatusUnauthorized || left != len(body) || told != nil {
			t.Fatalf("HTTP %d with another token, %d of %d bytes left unread, %v", status, left, len(body), told)
		}
		if _, status := offered(r, body, tokens(t, 1).Of(mine)); status != http.StatusAccepted || len(told) != 1 {
			t.Fatalf("HTTP %d, told %v", status, told)
		}
		if e := told[0]; !stateForm.MatchString(string(e.State)) || e.ID != "" && len(e.ID) != 64 || len(e.TaskID) > 3*len(body) {
			t.Errorf("%+v", e)
		}
		if offered(r, body, tokens(t, 1).Of(mine)); (len(told) == 1) != (told[0].ID != "") {
			t.Errorf("%+v was told %d times", told[0], len(told))
		}
	})
}

// offered returns how much of a push was left unread, and the answer.
func offered(r http.Handler, body []byte, token string) (left, status int) {
	from := bytes.NewReader(body)
	req := httptest.NewRequest(http.MethodPost, "/push/"+string(mine), io.NopCloser(from))
	req.Header["A2a-Notification-Token"] = []string{token}
	w := httptest.NewRecorder()
	r.ServeHTTP(w, req)
	return from.Len(), w.Code
}
