// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/kubectlplugin/standing"
)

// List is the table of Delegations, with what to do about each.
func List(command string, list []v1alpha1.Delegation, namespaces bool, now time.Time) string {
	head := []string{"NAME", "AGENT", "PHASE", "REASON", "AGE", "NEXT"}
	if namespaces {
		head = append([]string{"NAMESPACE"}, head...)
	}
	rows := [][]string{head}
	for i := range list {
		d := &list[i]
		row := []string{
			d.Name, agentOf(d), cmp.Or(string(d.Status.Phase), "Pending"), standing.Reason(d),
			duration.HumanDuration(now.Sub(d.CreationTimestamp.Time)), standing.Next(command, d),
		}
		if namespaces {
			row = append([]string{d.Namespace}, row...)
		}
		rows = append(rows, row)
	}
	return Table(rows)
}

// Artifacts is the table of a Delegation's results.
func Artifacts(d *v1alpha1.Delegation) string {
	rows := [][]string{{"NAME", "SIZE", "MEDIA TYPES", "WHERE", "ID"}}
	for _, a := range d.Status.Artifacts {
		rows = append(rows, []string{cmp.Or(a.Name, "-"), cmp.Or(Size(a.Size), "-"), cmp.Or(mediaTypes(a), "-"), Where(a), a.ArtifactID})
	}
	return Table(rows)
}

// Where says where the content of an artifact is.
func Where(a v1alpha1.ArtifactStatus) string {
	switch {
	case a.Truncated:
		return "at the agent only"
	case a.Text != "":
		return "status"
	case a.ConfigMapRef != nil:
		return "ConfigMap " + a.ConfigMapRef.Name
	case len(a.Chunks) > 0:
		return "ConfigMaps, " + Count(len(a.Chunks), "chunk", "chunks")
	case a.URL != "":
		return a.URL
	case a.Size > 0:
		return "not kept"
	}
	return "empty"
}

func mediaTypes(a v1alpha1.ArtifactStatus) string {
	out := ""
	for i, t := range a.MediaTypes {
		if i > 0 {
			out += ","
		}
		out += t
	}
	return out
}

func agentOf(d *v1alpha1.Delegation) string {
	if d.UsesForeignAgent() {
		return d.AgentKey().String()
	}
	return d.Spec.AgentRef.Name
}
