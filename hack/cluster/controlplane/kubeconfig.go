// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
)

const kubeconfigFormat = `apiVersion: v1
kind: Config
current-context: delegation-local
contexts:
- name: delegation-local
  context: {cluster: delegation-local, user: %[1]s}
clusters:
- name: delegation-local
  cluster:
    server: %[2]s
    certificate-authority-data: %[3]s
users:
- name: %[1]s
  user:
    client-certificate-data: %[4]s
    client-key-data: %[5]s
`

// writeKubeconfig writes a file that holds everything, so that it still works
// after it is copied.
func (o Options) writeKubeconfig(path, user string, p ports) error {
	encoded := make([]any, 0, 3)
	for _, file := range []string{clusterCA + ".crt", user + ".crt", user + ".key"} {
		data, err := os.ReadFile(o.pki(file))
		if err != nil {
			return err
		}
		encoded = append(encoded, base64.StdEncoding.EncodeToString(data))
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	content := fmt.Sprintf(kubeconfigFormat, append([]any{user, p.apiServerURL()}, encoded...)...)
	return writeFile(path, []byte(content))
}
