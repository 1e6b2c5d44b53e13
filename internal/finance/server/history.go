package server

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// hideHistory removes the messages from every task in every answer, as an agent does that keeps them for
// itself. The stored tasks keep theirs: the agent works from them.
type hideHistory struct {
	a2asrv.PassthroughCallInterceptor
}

// After implements [a2asrv.CallInterceptor].
func (hideHistory) After(_ context.Context, _ *a2asrv.CallContext, resp *a2asrv.Response) error {
	switch answer := resp.Payload.(type) {
	case *a2a.Task:
		resp.Payload = withoutHistory(answer)
	case *a2a.ListTasksResponse:
		if answer == nil {
			return nil
		}
		bare := *answer
		bare.Tasks = make([]*a2a.Task, 0, len(answer.Tasks))
		for _, task := range answer.Tasks {
			bare.Tasks = append(bare.Tasks, withoutHistory(task))
		}
		resp.Payload = &bare
	}
	return nil
}

// withoutHistory copies, because the subscribers of a task share its events.
func withoutHistory(task *a2a.Task) *a2a.Task {
	if task == nil {
		return nil
	}
	bare := *task
	bare.History = nil
	return &bare
}
