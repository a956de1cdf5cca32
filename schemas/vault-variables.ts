// The variables that say where the proxy reads secrets of vaults, and as whom. Most are the
// standard ones of HashiCorp Vault, AWS and Google.

export const vaultVariables = [
  {
    name: 'GATEWAY_SECRET_REFRESH_MS',
    readBy: 'proxy',
    default: '60000',
    says: 'Milliseconds between two reads of a secret that the YAML refers to in a vault, at least 100. Files are looked at every half second.',
  },
  {
    name: 'VAULT_ADDR',
    readBy: 'proxy',
    says: 'Address of HashiCorp Vault or OpenBao for references that begin with `vault:`, such as `https://vault.internal:8200`.',
  },
  {
    name: 'VAULT_TOKEN',
    readBy: 'proxy',
    says: 'The token for it, a secret. It is renewed while Vault allows it. The configuration cannot refer to it.',
  },
  {
    name: 'VAULT_TOKEN_FILE',
    readBy: 'proxy',
    says: 'A file that holds the token, in place of `VAULT_TOKEN`, such as the sink of a Vault agent, which renews it. It is read again before each use.',
  },
  {
    name: 'VAULT_ROLE',
    readBy: 'proxy',
    says: 'The role of a login with the Kubernetes service account, in place of a token.',
  },
  {
    name: 'VAULT_AUTH_MOUNT',
    readBy: 'proxy',
    default: 'kubernetes',
    says: 'Where the Kubernetes login is mounted in Vault.',
  },
  {
    name: 'VAULT_JWT_FILE',
    readBy: 'proxy',
    default: '/var/run/secrets/kubernetes.io/serviceaccount/token',
    says: 'The file with the token of the service account.',
  },
  { name: 'VAULT_NAMESPACE', readBy: 'proxy', says: 'The namespace in Vault Enterprise.' },
  {
    name: 'VAULT_CACERT',
    readBy: 'proxy',
    says: 'A file with the certificates (PEM) of the authorities that may have issued that of Vault, in place of the authorities of the system. It is read again before each use.',
  },
  {
    name: 'AWS_REGION',
    readBy: 'proxy',
    says: 'The region of AWS Secrets Manager for secrets that are not named by an ARN.',
  },
  { name: 'AWS_DEFAULT_REGION', readBy: 'proxy', says: 'The same, where `AWS_REGION` is not set.' },
  {
    name: 'AWS_ENDPOINT_URL_SECRETS_MANAGER',
    readBy: 'proxy',
    says: 'Another address of AWS Secrets Manager, such as that of a VPC endpoint.',
  },
  {
    name: 'CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER',
    readBy: 'proxy',
    says: 'Another address of Google Secret Manager, such as that of Private Service Connect.',
  },
  {
    name: 'GATEWAY_AZURE_KEY_VAULT_URL',
    readBy: 'proxy',
    default: 'https://{vault}.vault.azure.net',
    says: 'The address of a vault of Azure; `{vault}` stands for its name. Other clouds have others: `https://{vault}.vault.azure.cn`.',
  },
] as const;
