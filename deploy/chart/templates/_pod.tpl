{{/* What the pods of both planes have in common. Call with (list . "proxy") or (list . "control-plane"). */}}

{{- define "gateway.podSecurity" -}}
automountServiceAccountToken: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
# fsGroup: the volumes are this group's.
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "gateway.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{/* Variables that an operator has set, besides those of the chart. */}}
{{- define "gateway.env" -}}
{{- range $name, $value := . }}
- { name: {{ $name }}, value: {{ $value | toString | quote }} }
{{- end }}
{{- end }}

{{- define "gateway.mounts" -}}
{{- if .Values.gitSync.enabled }}
- { name: git, mountPath: /git, readOnly: true }
{{- else }}
- { name: config, mountPath: /etc/gateway, readOnly: true }
{{- end }}
# Not with subPath: such a mount never changes.
- { name: secrets, mountPath: /run/secrets/gateway, readOnly: true }
- { name: data, mountPath: /var/lib/gateway }
# For commands that are run in the pod, such as model-gateway check.
- { name: tmp, mountPath: /tmp }
{{- end }}

{{- define "gateway.configDirectory" -}}
{{- if .Values.gitSync.enabled }}{{ printf "/git/current/%s" .Values.gitSync.directory }}{{ else }}/etc/gateway{{ end }}
{{- end }}

{{- define "gateway.configVolume" -}}
{{- if .Values.gitSync.enabled }}
- { name: git, emptyDir: {} }
{{- with .Values.gitSync.credentialsSecret }}
- { name: git-credentials, secret: { secretName: {{ . }}, defaultMode: 288 } }
{{- end }}
{{- else }}
- { name: config, configMap: { name: {{ include "gateway.configMap" . }} } }
{{- end }}
- { name: tmp, emptyDir: {} }
{{- end }}

{{/* Runs beside the plane for as long as it lives; the plane starts once the first copy is there. */}}
{{- define "gateway.gitSync" -}}
{{- if .Values.gitSync.enabled }}
initContainers:
  - name: git-sync
    image: {{ .Values.gitSync.image }}
    restartPolicy: Always
    args:
      - --repo={{ required "gitSync.repository: the address of the git repository" .Values.gitSync.repository }}
      - --ref={{ .Values.gitSync.ref }}
      - --period={{ .Values.gitSync.period }}
      - --root=/git
      - --link=current
      - --depth=1
      - --http-bind=:1234
      {{- if .Values.gitSync.credentialsSecret }}
      - --username=$(GIT_USERNAME)
      - --password-file=/run/secrets/git/password
    env:
      - { name: GIT_USERNAME, valueFrom: { secretKeyRef: { name: {{ .Values.gitSync.credentialsSecret }}, key: username } } }
      {{- end }}
    startupProbe: { httpGet: { path: /, port: 1234 }, periodSeconds: 1, failureThreshold: 60 }
    resources: { requests: { cpu: 10m, memory: 32Mi }, limits: { memory: 128Mi } }
    {{- include "gateway.containerSecurity" . | nindent 4 }}
    volumeMounts:
      - { name: git, mountPath: /git }
      - { name: tmp, mountPath: /tmp }
      {{- if .Values.gitSync.credentialsSecret }}
      - { name: git-credentials, mountPath: /run/secrets/git, readOnly: true }
      {{- end }}
{{- end }}
{{- end }}
