{{- /* Arguments of most templates: dict "root" $ "component" "query". */}}

{{- define "helix.name" -}}
{{ printf "%s-%s" .root.Release.Name .component | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "helix.selector" -}}
app.kubernetes.io/name: helix
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "helix.labels" -}}
{{ include "helix.selector" . }}
app.kubernetes.io/part-of: helix
app.kubernetes.io/version: {{ include "helix.version" .root | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "helix.metadata" -}}
name: {{ include "helix.name" . }}
namespace: {{ .root.Release.Namespace }}
labels: {{- include "helix.labels" . | nindent 2 }}
{{- end }}

{{- /* The one place of the version. */}}
{{- define "helix.version" -}}
{{ .Values.global.image.version | default .Chart.AppVersion }}
{{- end }}

{{- /* Arguments: root, image. */}}
{{- define "helix.image" -}}
image: {{ printf "%s%s:%s" .root.Values.global.image.prefix .image (include "helix.version" .root) | quote }}
imagePullPolicy: {{ .root.Values.global.image.pullPolicy }}
{{- end }}

{{- define "helix.natsUrl" -}}
{{ .Values.broker.url | default (printf "nats://%s-nats:4222" .Release.Name) }}
{{- end }}

{{- define "helix.natsMonitoring" -}}
{{ .Values.broker.monitoring | default (printf "%s-nats.%s.svc:8222" .Release.Name .Release.Namespace) }}
{{- end }}
