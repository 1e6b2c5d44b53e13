{{/* Certificates of the servers that have one. */}}
{{- define "delegation-operator.certs" -}}
{{- if and .Values.metrics.enabled .Values.metrics.certSecret }}
metrics: {{ .Values.metrics.certSecret }}
{{- end }}
{{- if and .Values.push.enabled .Values.push.certSecret }}
push: {{ .Values.push.certSecret }}
{{- end }}
{{- end -}}

{{- define "delegation-operator.mounts" -}}
{{- with include "delegation-operator.certs" . | fromYaml }}
volumeMounts:
{{- range $name, $secret := . }}
- name: {{ $name }}-cert
  mountPath: /certs/{{ $name }}
  readOnly: true
{{- end }}
{{- end }}
{{- end -}}

{{- define "delegation-operator.volumes" -}}
{{- with include "delegation-operator.certs" . | fromYaml }}
volumes:
{{- range $name, $secret := . }}
- name: {{ $name }}-cert
  secret:
    secretName: {{ $secret }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Where a shard's pods run. */}}
{{- define "delegation-operator.scheduling" -}}
{{- $selector := dict "matchLabels" (include "delegation-operator.podSelector" . | fromYaml) }}
{{- with .root }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
{{- toYaml . | nindent 0 }}
{{- end }}
{{- with .Values.topologySpreadConstraints }}
topologySpreadConstraints:
{{- range . }}
{{- list (merge (deepCopy .) (hasKey . "labelSelector" | ternary (dict) (dict "labelSelector" $selector))) | toYaml | nindent 0 }}
{{- end }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
{{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
{{- toYaml . | nindent 0 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
{{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}
