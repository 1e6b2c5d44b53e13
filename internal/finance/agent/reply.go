package agent

import (
	"context"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// replies are what the agent answers at once, without a task.
var replies = map[string]string{
	"ping": "pong",
	"help": "This agent reconciles a month's ledger with the bank statement. " + HowToSend + " " + HowToAnswer + " " + HowToRevise,
}

// reply answers a message that is nothing but one of these words.
func reply(_ context.Context, j *job) bool {
	if j.StoredTask != nil || len(j.Message.Parts) != 1 || len(j.Message.ReferenceTasks) > 0 {
		return true
	}
	text, ok := replies[strings.ToLower(strings.Trim(j.Message.Parts[0].Text(), " \t\r\n.?!"))]
	if !ok {
		return true
	}
	msg := a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(text))
	msg.ContextID = j.ContextID
	j.emit(msg)
	return false
}
