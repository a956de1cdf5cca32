// What the client of a vault is: it reads a secret by its name, or says why it cannot.

/** Reads all of a secret, which a reference may name a member of. Rejects with a `VaultTrouble`. */
export type ReadSecret = (name: string, signal: AbortSignal) => Promise<string>;

/** The message is the end of a sentence about the secret: "is not in Vault". It holds nothing of a secret or a token. */
export class VaultTrouble extends Error {
  override readonly name = 'VaultTrouble';
}
