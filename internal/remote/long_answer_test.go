// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/artifact"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/internal/remote"
)

// piece is a text that an answer repeats.
type piece struct {
	text  string
	times int
}

func once(text string) piece { return piece{text, 1} }

// lengthy returns an agent whose answer is made of these pieces, without a copy of it in memory. In the first %s is the
// request's id.
func lengthy(pieces ...piece) func(*testing.T) *agent {
	return func(t *testing.T) *agent {
		return served(t, false, func(_ *agent, w http.ResponseWriter, _ *http.Request, c call) {
			w.Header().Set("Content-Type", "application/json")
			for i, p := range pieces {
				if i == 0 {
					p.text = withID(p.text, c.ID)
				}
				for range p.times {
					_, _ = io.WriteString(w, p.text) // the client may have enough
				}
			}
		})
	}
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

const (
	taskBegin = `{"jsonrpc":"2.0","id":"%s","result":{"id":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[`
	taskEnd   = `],"history":[{"messageId":"m-71","role":"ROLE_USER","parts":[{"text":"x"}]}]}}`
)

type longCase struct {
	name   string
	pieces []piece
	adapt  func(*remote.Config)
	// size and digest are those of the last artifact's content; listed is how many artifacts there are.
	size   int64
	digest string
	listed int
	// whole says that the last artifact is there as a whole.
	whole bool
}

// inPart is the answer with one artifact of one part, whose content is the pieces between its begin and its end.
func inPart(begin string, content piece, end string) []piece {
	return []piece{once(taskBegin + `{"artifactId":"a","parts":[{` + begin), content, once(end + `}]}` + taskEnd)}
}

func contentCases() []longCase {
	plain := strings.Repeat("0123456789abcde\u20ac", 1024)
	text := bytes.Repeat([]byte(plain), long/len(plain))
	smiles := bytes.Repeat([]byte("\U0001F600\n<"), 1024*1100)
	block := strings.Repeat("abc", 1024)
	raw := bytes.Repeat([]byte(block), long/len(block))
	base := piece{base64.StdEncoding.EncodeToString([]byte(block)), long / len(block)}
	data := []byte("[" + strings.Repeat("12,", 1024*5000) + `"a b"]`)
	return []longCase{
		{name: "a text", size: int64(len(text)), digest: digestOf(text), listed: 1,
			pieces: inPart(`"text":"`, piece{plain, long / len(plain)}, `","mediaType":"text/csv"`)},
		{name: "a text of escapes", size: int64(len(smiles)), digest: digestOf(smiles), listed: 1,
			pieces: inPart(`"text":"`, piece{strings.Repeat(`\ud83d\ude00\n\u003c`, 1024), 1100}, `"`)},
		{name: "bytes", size: int64(len(raw)), digest: digestOf(raw), listed: 1, pieces: inPart(`"raw":"`, base, `"`)},
		{name: "data", size: int64(len(data)), digest: digestOf(data), listed: 1,
			pieces: inPart(`"data":[`, piece{strings.Repeat("12, ", 1024), 5000}, `"a b" ]`)},
		{name: "bytes that are none", listed: 1, pieces: inPart(`"raw":"`, piece{strings.Repeat("%", 1024), long / 1024}, `"`)},
		{name: "metadata", listed: 1, size: 1, digest: digestOf([]byte("a")), whole: true,
			pieces: inPart(`"text":"a","metadata":{"x":"`, piece{plain, long / len(plain)}, `"}`)},
	}
}

func manyCases() []longCase {
	pieces := []piece{once(taskBegin)}
	content := strings.Repeat("y", 30<<10)
	for i := range 999 {
		pieces = append(pieces, once(fmt.Sprintf(`{"artifactId":"a-%d","parts":[{"text":"%s"}]},`, i, content)))
	}
	pieces = append(pieces, once(fmt.Sprintf(`{"artifactId":"last","parts":[{"text":"%s"}]}`, content)+taskEnd))
	return []longCase{
		{name: "1,000 artifacts of 30 KiB", pieces: pieces, listed: 1000, size: 30 << 10, digest: digestOf([]byte(content))},
		{name: "a million parts", pieces: inPart(`"text":"a"`, piece{`},{"text":"0123456789"`, 1 << 20}, ``), listed: 1},
	}
}

// asked gives the answer as one to SendMessage.
func asked(pieces []piece) []piece {
	out := slices.Clone(pieces)
	out[0].text = strings.Replace(out[0].text, `"result":`, `"result":{"task":`, 1)
	out[len(out)-1].text += "}"
	return out
}

// An answer of any length is read, in memory that does not grow with it: the task, its end and its history, and of what is
// left out the size and the digest that the content has.
func TestLongAnswers(t *testing.T) {
	for _, c := range append(contentCases(), manyCases()...) {
		t.Run(c.name+"/GetTask", func(t *testing.T) {
			checkLong(t, c, c.pieces, func(client *remote.Client) outbox.Exchange { return client.Get(t.Context(), "t-1") })
		})
		t.Run(c.name+"/SendMessage", func(t *testing.T) {
			checkLong(t, c, asked(c.pieces), func(client *remote.Client) outbox.Exchange { return client.Send(t.Context(), token(t), message()) })
		})
	}
}

// A file of A2A 0.3 is in an object of its own.
func TestLongAnswerOfA2A03(t *testing.T) {
	block := strings.Repeat("abc", 1024)
	raw := bytes.Repeat([]byte(block), long/len(block))
	c := longCase{size: int64(len(raw)), digest: digestOf(raw), listed: 1,
		adapt: func(c *remote.Config) { c.Interface.ProtocolVersion = "0.3" }}
	checkLong(t, c, []piece{
		once(`{"jsonrpc":"2.0","id":"%s","result":{"kind":"task","id":"t-1","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"kind":"file","file":{"bytes":"`),
		{base64.StdEncoding.EncodeToString([]byte(block)), long / len(block)},
		once(`","name":"a.bin"}}]}],"history":[{"kind":"message","messageId":"m-71","role":"user","parts":[]}]}}`),
	}, func(client *remote.Client) outbox.Exchange { return client.Get(t.Context(), "t-1") })
}

func checkLong(t *testing.T, c longCase, pieces []piece, ask func(*remote.Client) outbox.Exchange) {
	t.Helper()
	if c.adapt == nil {
		c.adapt = nothing
	}
	client := connect(t, lengthy(pieces...)(t), c.adapt)
	peak := watchHeap(t)
	ex := ask(client)
	// The buffers of both sides, and the garbage that reading JSON level by level makes of what is kept.
	if took := peak(); took > 64<<20 {
		t.Errorf("the heap grew by %d MiB", took>>20)
	}
	if ex.Outcome != outbox.Accepted || ex.Task.State != v1alpha1.TaskStateCompleted || len(ex.Task.Artifacts) != c.listed {
		t.Fatalf("%s %q %s", ex.Outcome, ex.Reason, ex.Detail)
	}
	if !slices.Equal(ex.Task.History, []string{"m-71"}) {
		t.Errorf("history %q", ex.Task.History)
	}
	st := artifact.Place(artifact.Names("cm"), ex.Task.Artifacts[c.listed-1:]).Status[0]
	if st.Size != c.size || st.Digest != c.digest || st.Truncated == c.whole {
		t.Errorf("%+v, want %d bytes of digest %s", st, c.size, c.digest)
	}
}

// watchHeap returns a function that ends the watch and tells how much the heap grew at most. Meanwhile little garbage is
// left to lie: how much usually is depends on what the tests before have held.
func watchHeap(t *testing.T) func() uint64 {
	t.Helper()
	usual := debug.SetGCPercent(20)
	t.Cleanup(func() { debug.SetGCPercent(usual) })
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	base, top := m.HeapInuse, m.HeapInuse
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				runtime.ReadMemStats(&m)
				top = max(top, m.HeapInuse)
			}
		}
	}()
	return func() uint64 {
		close(stop)
		<-stopped
		return top - base
	}
}

// Of an answer without an end so much is read and no more. What is known by then counts, unless it could hide a message.
func TestEndlessAnswers(t *testing.T) {
	endless := func(begin string) func(*testing.T) *agent {
		return lengthy(once(begin), piece{strings.Repeat("z", 1<<16), 1 << 12})
	}
	small := limited(1 << 18)
	t.Run("an artifact", func(t *testing.T) {
		ex := connect(t, endless(taskBegin+`{"artifactId":"a","parts":[{"text":"`)(t), small).Get(t.Context(), "t-1")
		if ex.Outcome != outbox.Accepted || ex.Task.State != v1alpha1.TaskStateCompleted || ex.Task.MoreArtifacts != 1 {
			t.Fatalf("%+v", ex)
		}
		if st := artifact.Place(artifact.Names("cm"), ex.Task.Artifacts).Status[0]; !st.Truncated || st.Size != 0 || st.Digest != "" {
			t.Errorf("%+v", st)
		}
	})
	for name, begin := range map[string]string{
		"a history": `{"jsonrpc":"2.0","id":"%s","result":{"id":"t-1","status":{"state":"TASK_STATE_COMPLETED"},"history":[{"messageId":"m-1","parts":[{"text":"`,
		"a name":    `{"jsonrpc":"2.0","id":"%s","result":{"id":"t-1","`,
	} {
		t.Run(name, func(t *testing.T) {
			if ex := connect(t, endless(begin)(t), small).Get(t.Context(), "t-1"); ex.Outcome != outbox.Ambiguous || ex.Reason != remote.ReasonResponseTooLarge {
				t.Errorf("%s %q", ex.Outcome, ex.Reason)
			}
		})
	}
	t.Run("a listing", func(t *testing.T) {
		a := endless(`{"jsonrpc":"2.0","id":"%s","result":{"tasks":[{"id":"t-1","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"parts":[{"text":"`)(t)
		ex := connect(t, a, small).Find(t.Context(), outbox.Query{MessageID: "m-71", ContextID: "c-1"})
		if ex.Outcome != outbox.Ambiguous || ex.Reason != remote.ReasonResponseTooLarge {
			t.Errorf("%s %q", ex.Outcome, ex.Reason)
		}
	})
}

// A text that is no artifact keeps its beginning, which is all that is shown of it.
func TestLongWords(t *testing.T) {
	plain := piece{strings.Repeat("w", 1<<16), long >> 16}
	ex := connect(t, lengthy(once(`{"jsonrpc":"2.0","id":"%s","result":{"message":{"messageId":"r-1","role":"ROLE_AGENT","parts":[{"text":"`), plain, once(`"}]}}}`))(t)).
		Send(t.Context(), token(t), message())
	if ex.Outcome != outbox.Accepted || ex.Reply == nil || *ex.Reply != strings.Repeat("w", 4096) {
		t.Errorf("reply: %s %q", ex.Outcome, ex.Reason)
	}
}

// What HowToGet says is the request that Get makes.
func TestHowToGet(t *testing.T) {
	for binding, want := range map[string]string{
		"JSONRPC":   `POST http://agent.example.com/a2a {"jsonrpc":"2.0","id":"1","method":"GetTask","params":{"id":"t'1"}}`,
		"HTTP+JSON": `GET http://agent.example.com/a2a/tasks/t%271`,
		"GRPC":      `POST http://agent.example.com/lf.a2a.v1.A2AService/GetTask {"id":"t'1"}`,
	} {
		c := connect(t, &agent{url: "http://agent.example.com/a2a", configure: nothing}, func(c *remote.Config) { c.Interface.ProtocolBinding = binding })
		if got := c.HowToGet("t'1"); got != want {
			t.Errorf("%s: %s, want %s", binding, got, want)
		}
	}
}
