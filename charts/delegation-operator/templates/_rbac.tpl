{{/* A binding of the manager to a role; takes kind, name, namespace, roleKind, role and root. */}}
{{- define "delegation-operator.binding" -}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "delegation-operator.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .roleKind }}
  name: {{ .role }}
subjects:
{{ include "delegation-operator.subjects" .root }}
{{ end -}}

{{/* The head of a role; takes kind, name, namespace, labels and root. */}}
{{- define "delegation-operator.role" -}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "delegation-operator.labels" .root | nindent 4 }}
    {{- range $key, $value := .labels }}
    {{ $key }}: {{ $value | quote }}
    {{- end }}
{{ end -}}
