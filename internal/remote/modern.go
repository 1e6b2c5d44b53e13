// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"encoding/json"

	legacy "github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
)

// modernResult translates the result of a send from A2A 0.3, whose objects name their kind (section 7.1), to 1.0, where
// the member that holds them does. A result of another kind becomes one that holds nothing. A task without a kind is taken
// for one by its status, since the id of work that has begun must not get lost; a message, which would be the end of the
// matter, is not.
func modernResult(o lax) map[string]any {
	switch kind := o.text("kind"); {
	case kind == "task", !o.has("kind") && object(o["status"]) != nil:
		return map[string]any{"task": modernTask(o)}
	case kind == "message":
		return map[string]any{"message": modernMessage(o)}
	}
	return nil
}

// modernTask translates a Task (A2A 0.3, section 6.1). Members of the same meaning are passed on as they came.
func modernTask(o lax) map[string]any {
	status := object(o["status"])
	out := status.pick("timestamp")
	out["state"] = modernState(status.text("state"))
	if message := object(status["message"]); message != nil {
		out["message"] = modernMessage(message)
	}
	task := o.pick("id", "contextId", omitted)
	task["status"] = out
	task["history"] = translate(o["history"], modernMessage)
	task["artifacts"] = translate(o["artifacts"], modernArtifact)
	return task
}

// modernState translates a state (A2A 0.3, section 6.3). One that the SDK does not know, "unknown" among them, stays as it
// came, so that it is shown and counts neither as an end nor as a success.
func modernState(s string) string {
	if state := a2av0.ToV1TaskState(legacy.TaskState(s)); state != a2a.TaskStateUnspecified {
		return string(state)
	}
	return s
}

func modernMessage(o lax) map[string]any {
	message := o.pick("messageId", "contextId", "taskId")
	message["parts"] = translate(o["parts"], modernPart)
	return message
}

func modernArtifact(o lax) map[string]any {
	artifact := o.pick("artifactId", "name", omitted)
	artifact["parts"] = translate(o["parts"], modernPart)
	return artifact
}

// modernPart translates a Part (A2A 0.3, section 6.5). One that is not of the kind it says, or says none and is like none,
// is kept whole, as data.
func modernPart(o lax) map[string]any {
	kind, file := o.text("kind"), object(o["file"])
	_, hasData := o["data"]
	is := func(name string, like bool) bool { return like && (kind == name || !o.has("kind")) }
	switch {
	case is("text", o.isText("text")):
		return o.pick("text", omitted)
	case is("file", file.isText("uri") || file.isText("bytes")):
		if part := modernFile(file); part != nil {
			return part
		}
	case is("data", hasData):
		part := o.pick(omitted)
		part["data"] = modernData(o)
		return part
	}
	part := o.pick(omitted)
	part["data"] = o
	return part
}

// modernFile translates the file of a FilePart; nil where its bytes are none.
func modernFile(file lax) map[string]any {
	part := file.pick(omitted)
	part["filename"], part["mediaType"] = file.text("name"), file.text("mimeType")
	if file.text("uri") != "" {
		part["url"] = file["uri"]
		return part
	}
	if _, ok := decodeBase64(file.text("bytes")); !ok {
		return nil
	}
	part["raw"] = file["bytes"]
	return part
}

// modernData is the data of a DataPart, which is an object in A2A 0.3. The Go SDK puts other JSON into an object and marks
// the part.
func modernData(o lax) json.RawMessage {
	if inner := object(o["data"]); object(o["metadata"]).flag("data_part_compat") && inner["value"] != nil {
		return inner["value"]
	}
	return o["data"]
}

// translate applies f to the objects of an array; what is no object is left out.
func translate(raw json.RawMessage, f func(lax) map[string]any) []map[string]any {
	var out []map[string]any
	for _, e := range elements(raw) {
		if o := object(e); o != nil {
			out = append(out, f(o))
		}
	}
	return out
}
