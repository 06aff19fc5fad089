{{- define "nats.selector" -}}
app.kubernetes.io/name: nats
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "nats.labels" -}}
{{ include "nats.selector" . }}
app.kubernetes.io/part-of: helix
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "nats.metadata" -}}
name: {{ .Release.Name }}-nats
namespace: {{ .Release.Namespace }}
labels: {{- include "nats.labels" . | nindent 2 }}
{{- end }}
