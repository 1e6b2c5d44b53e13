package server

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// sendAndHang starts a send, and returns once the server has it.
func (p *peer) sendAndHang(ctx context.Context, t *testing.T, id string, send func(*a2a.SendMessageRequest) error) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	req := reconciliation(t, id, "c-recon-09")
	go func() { done <- send(req) }()
	for p.records(t)[id].Received == 0 {
		if ctx.Err() != nil {
			t.Fatal("no send arrived")
		}
		time.Sleep(time.Millisecond)
	}
	return done
}

// A send that hangs ends when its client gives up; the agent never sees the message.
func TestHang(t *testing.T) {
	onEachBinding(t, func(c *Config) { c.Faults.Hang = true }, func(ctx context.Context, t *testing.T, p *peer) {
		patient, giveUp := context.WithCancel(ctx)
		defer giveUp()
		sent := p.sendAndHang(ctx, t, "m-71", func(req *a2a.SendMessageRequest) error {
			_, err := p.SendMessage(patient, req)
			return err
		})
		streamed := p.sendAndHang(ctx, t, "m-72", func(req *a2a.SendMessageRequest) (err error) {
			for _, err = range p.SendStreamingMessage(patient, req) {
				break
			}
			return err
		})
		list, err := p.ListTasks(ctx, &a2a.ListTasksRequest{})
		if err != nil || len(list.Tasks) != 0 {
			t.Errorf("ListTasks: %+v, %v", list, err)
		}
		select {
		case err := <-sent:
			t.Errorf("SendMessage ended by itself: %v", err)
		case err := <-streamed:
			t.Errorf("SendStreamingMessage ended by itself: %v", err)
		default:
		}
		giveUp()
		for _, done := range []<-chan error{sent, streamed} {
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want the client's own", err)
			}
		}
		p.wantRecord(t, "m-71", 1, 0, 1)
		p.wantRecord(t, "m-72", 1, 0, 1)
	})
}

func TestHangEndsWithTheServer(t *testing.T) {
	stopping := make(chan struct{}, 1) // a token per send stands for the channel's closing, which can't be undone
	hanging := func(c *Config) { c.Faults.Hang, c.Stopping = true, stopping }
	onEachBinding(t, hanging, func(ctx context.Context, t *testing.T, p *peer) {
		done := p.sendAndHang(ctx, t, "m-71", func(req *a2a.SendMessageRequest) error {
			_, err := p.SendMessage(ctx, req)
			return err
		})
		stopping <- struct{}{}
		if err := <-done; !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("error %v, want a reset connection", err)
		}
	})
}

// The card promises what the agent doesn't do.
func TestDuplicateTasks(t *testing.T) {
	onEachBinding(t, func(c *Config) { c.Faults.DuplicateTasks = true }, func(ctx context.Context, t *testing.T, p *peer) {
		cfg := Defaults()
		cfg.Faults.DuplicateTasks = true
		checkCard(ctx, t, p, cfg)
		first := p.send(ctx, t, reconciliation(t, "m-72", "c-recon-09"))
		if again := p.send(ctx, t, reconciliation(t, "m-72", "c-recon-09")); again.ID == first.ID {
			t.Error("one task for two sends")
		}
		p.wantRecord(t, "m-72", 2, 2, 1)
	})
}
