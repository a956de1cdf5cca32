{{/* Name of a plane's objects. Call with (list . "proxy"). */}}
{{- define "gateway.name" -}}
{{ printf "%s-%s" ((index . 0).Release.Name | trunc 40 | trimSuffix "-") (index . 1) }}
{{- end }}

{{/* Labels that choose the pods of a plane; they never change. */}}
{{- define "gateway.selector" -}}
app.kubernetes.io/name: model-gateway
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "gateway.labels" -}}
{{ include "gateway.selector" . }}
app.kubernetes.io/version: {{ (index . 0).Chart.AppVersion | quote }}
{{- end }}

{{- define "gateway.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "gateway.secret" -}}
{{ .Values.secret.existing | default .Release.Name }}
{{- end }}

{{- define "gateway.configMap" -}}
{{ .Values.config.existingConfigMap | default (printf "%s-config" .Release.Name) }}
{{- end }}

{{/* Of the proxies; empty: the one of the namespace. */}}
{{- define "gateway.proxyServiceAccount" -}}
{{ .Values.proxy.serviceAccount.name | default (ternary (include "gateway.name" (list . "proxy")) "" .Values.proxy.serviceAccount.create) }}
{{- end }}
