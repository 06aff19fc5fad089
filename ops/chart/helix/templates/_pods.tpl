{{- /* What all pods are: no root, no privilege, no token of the cluster. Arguments: root, account, grace. */}}
{{- define "helix.pod" -}}
serviceAccountName: {{ .account }}
automountServiceAccountToken: false
enableServiceLinks: false
terminationGracePeriodSeconds: {{ .grace }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .root.Values.global.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . | quote }}
  {{- end }}
{{- end }}
{{- with .root.Values.pods.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .root.Values.pods.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.pods.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* Replicas of one component stand on different nodes where that is possible. Arguments: root, component. */}}
{{- define "helix.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "helix.selector" . | nindent 8 }}
{{- end }}

{{- define "helix.podMetadata" -}}
labels: {{- include "helix.labels" . | nindent 2 }}
{{- with .root.Values.pods.annotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "helix.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  privileged: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{- /*
Alive: the event loop runs; no backend is asked, so its slowness restarts nothing. Ready: the process does its work.
A process has five minutes for its start. Argument: the name of the metrics port.
*/}}
{{- define "helix.alive" -}}
startupProbe:
  httpGet: {path: /healthz, port: {{ . }}}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /healthz, port: {{ . }}}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
{{- end }}

{{- define "helix.probes" -}}
{{- include "helix.alive" . }}
readinessProbe:
  httpGet: {path: /readyz, port: {{ . }}}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 2
{{- end }}

{{- /* Calls in progress still arrive while the endpoints forget a pod. */}}
{{- define "helix.leave" -}}
lifecycle:
  preStop:
    exec: {command: [/opt/helix/bin/python, -I, -c, import time; time.sleep(5)]}
{{- end }}

{{- /*
Variables of one service. What the chart sets for its ports, folders and addresses is not for the values to change; how
callers are known is. A number of the values is a float, and 67108864 would become 6.7108864e+07.
Arguments: root (of a service, which may send traces), prefix, set, settings, secret.
*/}}
{{- define "helix.environment" -}}
env:
  {{- with .root }}
  {{- include "helix.tracing" . | nindent 2 }}
  {{- end }}
  {{- range $name, $_ := .settings }}
  {{- if and (hasKey $.set $name) (ne $name "AUTH") }}
  {{- fail (printf "settings.%s: the chart sets %s_%s itself" $name $.prefix $name) }}
  {{- end }}
  {{- end }}
  {{- range $name, $value := merge (deepCopy .settings) .set }}
  {{- if kindIs "float64" $value }}
  {{- if eq (float64 (int64 $value)) $value }}
  {{- $value = int64 $value }}
  {{- end }}
  {{- end }}
  - {name: {{ printf "%s_%s" $.prefix $name }}, value: {{ $value | toString | quote }}}
  {{- end }}
{{- with .secret }}
envFrom:
  - secretRef: {name: {{ . | quote }}}
{{- end }}
{{- end }}

{{- /* Where spans go: variables without the prefix of a service. Argument: root. */}}
{{- define "helix.tracing" -}}
{{- with .Values.tracing }}
{{- if .endpoint }}
- {name: HELIX_OTLP_ENDPOINT, value: {{ .endpoint | quote }}}
{{- end }}
{{- range $name, $value := .variables }}
- {name: {{ $name }}, value: {{ $value | quote }}}
{{- end }}
{{- end }}
{{- end }}

{{- /* The address of NATS, and the user of a service. Arguments: root, authority (name of the setting). Gives a dict. */}}
{{- define "helix.broker" -}}
NATS_URL: {{ include "helix.natsUrl" .root | quote }}
{{- if .root.Values.global.security.existingSecret }}
NATS_CREDENTIALS_FILE: /etc/helix/security/nats
{{ .authority }}: /etc/helix/security/ca.pem
{{- end }}
{{- end }}

{{- define "helix.metrics" -}}
METRICS_HOST: 0.0.0.0
METRICS_PORT: {{ . | quote }}
{{- end }}

{{- /* Who may call a service that listens. Argument: root. */}}
{{- define "helix.access" -}}
{{- if .Values.global.security.existingSecret }}
AUTH: tokens{{ if .Values.jwt.existingSecret }}+jwt{{ end }}
TOKENS_FILE: /etc/helix/security/tokens.json
{{- with .Values.jwt }}
{{- if .existingSecret }}
JWT_KEYS_FILE: /etc/helix/jwt/keys
JWT_ISSUER: {{ .issuer | quote }}
JWT_AUDIENCE: {{ .audience | quote }}
{{- with .claimPrefix }}
JWT_CLAIM_PREFIX: {{ . | quote }}
{{- end }}
{{- end }}
{{- end }}
TLS_CERT_FILE: /etc/helix/security/server.pem
TLS_KEY_FILE: /etc/helix/security/server.key
{{- else }}
INSECURE: "true"
{{- end }}
{{- end }}

{{- /* The files of the Secret that one pod needs, and no others. Arguments: root, files (key to path). */}}
{{- define "helix.securityVolume" -}}
{{- with .root.Values.global.security.existingSecret }}
- name: security
  secret:
    secretName: {{ . | quote }}
    defaultMode: 0400
    items:
      {{- range $key, $path := $.files }}
      - {key: {{ $key }}, path: {{ $path }}}
      {{- end }}
{{- end }}
{{- end }}

{{- define "helix.securityMount" -}}
{{- if .Values.global.security.existingSecret }}
- {name: security, mountPath: /etc/helix/security, readOnly: true}
{{- end }}
{{- end }}

{{- /* The public keys of JWTs, for a service that checks callers. Argument: root. */}}
{{- define "helix.jwtVolume" -}}
{{- with .Values.jwt }}
{{- if .existingSecret }}
- name: jwt
  secret:
    secretName: {{ .existingSecret | quote }}
    defaultMode: 0400
    items:
      - {key: {{ .key | quote }}, path: keys}
{{- end }}
{{- end }}
{{- end }}

{{- define "helix.jwtMount" -}}
{{- if .Values.jwt.existingSecret }}
- {name: jwt, mountPath: /etc/helix/jwt, readOnly: true}
{{- end }}
{{- end }}

{{- /* The embedding model, from an image: every pod must have the same bytes. Argument: root. */}}
{{- define "helix.modelContainer" -}}
- name: model
  {{- include "helix.image" (dict "root" . "image" "model") | nindent 2 }}
  command: [/opt/helix/bin/python, -I, -c]
  args: ["import shutil; shutil.copytree('/var/lib/helix/models', '/models/installed', dirs_exist_ok=True)"]
  {{- include "helix.containerSecurity" . | nindent 2 }}
  resources:
    requests: {cpu: 50m, memory: 64Mi}
    limits: {memory: 128Mi}
  volumeMounts:
    - {name: models, mountPath: /models}
{{- end }}
