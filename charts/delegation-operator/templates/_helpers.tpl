{{/* The name of what belongs to one release. */}}
{{- define "delegation-operator.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The labels of all objects. */}}
{{- define "delegation-operator.labels" -}}
app.kubernetes.io/name: delegation-operator
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* The selector is that of config/default, which can't be changed in a Deployment that is there. */}}
{{- define "delegation-operator.selector" -}}
control-plane: controller-manager
app.kubernetes.io/name: delegation-operator
{{- end -}}

{{/* What tells the objects of one shard from another's, where there are several. */}}
{{- define "delegation-operator.suffix" -}}
{{- if gt (int (default 1 .root.Values.shards)) 1 -}}
-{{ .part }}
{{- end -}}
{{- end -}}

{{/* The selector of a shard's pods. Two Deployments must not select the same. */}}
{{- define "delegation-operator.podSelector" -}}
{{ include "delegation-operator.selector" .root }}
{{- if gt (int (default 1 .root.Values.shards)) 1 }}
a2a.delegation.dev/shard: {{ .part | quote }}
{{- end }}
{{- end -}}

{{/* Who the manager is, as a binding's subject. */}}
{{- define "delegation-operator.subjects" -}}
- kind: ServiceAccount
  name: {{ include "delegation-operator.fullname" . }}-controller-manager
  namespace: {{ .Release.Namespace }}
{{- end -}}

{{/* Whether the manager asks the API server whose a token is: for metrics, and before it sends a ServiceAccount's to an agent. */}}
{{- define "delegation-operator.reviews" -}}
{{- if or (not .Values.namespaces) .Values.metrics.enabled (eq .Values.credentials.serviceAccountTokens "All") -}}
true
{{- end -}}
{{- end -}}

{{/* What values.schema.json can't say: values that need each other. */}}
{{- define "delegation-operator.check" -}}
{{- if and .Values.push.enabled (not .Values.push.url) -}}
{{- fail "push.url is needed where push.enabled is true: the URL by which agents reach the Service, such as https://push.example.com/a2a" -}}
{{- end -}}
{{- if and .Values.push.url (not .Values.push.enabled) -}}
{{- fail "push.url is set, and push.enabled is not: nothing would listen" -}}
{{- end -}}
{{- if and .Values.serviceMonitor.enabled (not .Values.metrics.enabled) -}}
{{- fail "serviceMonitor.enabled needs metrics.enabled: there would be nothing to scrape" -}}
{{- end -}}
{{- if not (or .Values.crds.install .Values.crds.keep) -}}
{{- fail "crds.install and crds.keep are both false: helm would delete the CRDs of a release that installed them, and all Delegations with them; set crds.keep=true" -}}
{{- end -}}
{{- if and (gt (int .Values.replicas) 1) (not .Values.leaderElection.enabled) -}}
{{- fail "replicas is more than one, and leaderElection.enabled is false: all would do the same work" -}}
{{- end -}}
{{- end -}}
