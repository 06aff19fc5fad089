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

{{- /* The components of the writer, one a shard, with spaces between them: the first has no number. Argument: root. */}}
{{- define "helix.writers" -}}
writer{{ range $shard := until (int .Values.writer.shards) }}{{ if $shard }} writer-{{ $shard }}{{ end }}{{ end }}
{{- end }}

{{- /* The components of query: one for all shards, or one for each. Argument: root. */}}
{{- define "helix.queries" -}}
{{ if eq .Values.query.shards "apart" }}{{ include "helix.writers" . | replace "writer" "query" }}{{ else }}query{{ end }}
{{- end }}

{{- /* Where recalls are asked: by shard, with commas. Argument: root. */}}
{{- define "helix.queryAddress" -}}
{{ range $shard, $component := splitList " " (include "helix.queries" .) }}{{ if $shard }},{{ end }}{{ include "helix.name" (dict "root" $ "component" $component) }}:7461{{ end }}
{{- end }}

{{- define "helix.natsMonitoring" -}}
{{ .Values.broker.monitoring | default (printf "%s-nats.%s.svc:8222" .Release.Name .Release.Namespace) }}
{{- end }}
