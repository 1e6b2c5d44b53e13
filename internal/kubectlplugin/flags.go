// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kubectlplugin

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/delegation-dev/delegation-operator/internal/kubectlplugin/compose"
)

// bindMessage makes the flags for the content of a message.
func bindMessage(c *cobra.Command, m *compose.Message) {
	f := c.Flags()
	f.StringArrayVar(&m.Texts, "text", nil, "a text part; may be repeated")
	f.StringArrayVar(&m.Data, "data", nil, "a data part: a JSON object; may be repeated")
	f.StringArrayVar(&m.Files, "file", nil, "attach a file, which then is in the manifest; may be repeated")
	f.StringArrayVar(&m.ConfigMaps, "from-configmap", nil, "a part with the content of NAME/KEY, a ConfigMap in the namespace; may be repeated")
	f.StringArrayVar(&m.Secrets, "from-secret", nil, "a part with the content of NAME/KEY, a Secret in the namespace; may be repeated")
	f.StringVarP(&m.PartsFile, "parts-file", "f", "", "file with a list of parts, or with an object as spec.message, as YAML or JSON; - for standard input")
	f.StringVar(&m.Metadata, "metadata", "", "metadata of the message: a JSON object")
	f.StringArrayVar(&m.Extensions, "extension", nil, "URI of a protocol extension that the message uses; may be repeated")
}

// bindOptions makes the flags for the rest of the spec.
func bindOptions(c *cobra.Command, o *compose.Options) {
	f := c.Flags()
	f.StringVar(&o.MessageID, "message-id", "", "messageId; a UUID is made where it is empty")
	f.StringArrayVar(&o.Accept, "accept", nil, "media type that the agent may answer in; may be repeated")
	f.StringVar(&o.NotAfter, "not-after", "", "time, such as 2026-10-31T00:00:00Z, or how long from now, such as 48h, after which it is not sent for the first time")
	f.DurationVar(&o.DeliveryDeadline, "delivery-deadline", 0, "how long delivery is tried, from the creation; 72h by default")
	f.DurationVar(&o.ActiveDeadline, "active-deadline", 0, "how long the task may take before it is canceled")
	f.DurationVar(&o.TTL, "ttl", 0, "how long the Delegation is kept once it is finished; for ever by default")
	f.StringVar(&o.OnUnknown, "on-unknown", "", "Escalate, which is the default, or Resend: each copy may be a task")
	f.StringVar(&o.DeletionPolicy, "deletion-policy", "", "Cancel, which is the default, or Orphan")
	f.StringVar(&o.Store, "output-store", "", "where artifacts are kept: ConfigMap, which is the default, Status or None")
	f.BoolVar(&o.Suspend, "suspend", false, "hold it back until spec.suspend is false")
	f.StringArrayVar(&o.Labels, "label", nil, "label of the Delegation, KEY=VALUE; may be repeated")
	complete(c, "on-unknown", fixed("Escalate", "Resend"))
	complete(c, "deletion-policy", fixed("Cancel", "Orphan"))
	complete(c, "output-store", fixed("ConfigMap", "Status", "None"))
}

// readFile reads a file that the user names; - is standard input.
func (p *plugin) readFile(path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(p.In)
	}
	return os.ReadFile(path)
}
