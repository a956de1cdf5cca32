// A sign-in that was begun, and what became of it: kept in a sealed cookie of the browser, so that strangers fill no memory of the gateway and
// any control plane can go on.
import { openText, readCookie, sealText } from '../../../domain/keys/sealed-text.ts';

const cookieName = 'gateway_sign_in';
const path = '/admin/sign-in';

/** How long a person has to sign in at the provider. Milliseconds. */
export const signInMs = 10 * 60_000;

/** What the answer of the provider is checked with. */
export interface BegunSignIn {
  /** The name of the identity: another provider cannot finish it. */
  readonly identity: string;
  /** In the address that the provider sends the browser back to. */
  readonly state: string;
  /** In the ID token. */
  readonly nonce: string;
  /** Of PKCE: a stolen code cannot be exchanged without this. */
  readonly verifier: string;
  /** The page of the dashboard that is shown afterwards. */
  readonly page: string;
}

/** Why a sign-in failed, for the login page. */
export interface SignInProblem {
  readonly code: string;
  readonly message: string;
}

type Kept = { readonly begun: BegunSignIn } | { readonly problem: SignInProblem };

/** What the browser keeps of its sign-in; undefined: nothing that was sealed here within the last ten minutes. */
export function readSignIn(header: string | undefined, masterKey: string, nowMs: number): Kept | undefined {
  const opened = openText(readCookie(header, cookieName) ?? '', 'sign-in', masterKey);
  if (opened === undefined) return undefined;
  const { endsAtMs, ...kept } = JSON.parse(opened.text) as Kept & { readonly endsAtMs: number };
  return endsAtMs > nowMs ? kept : undefined;
}

/** What a cookie is sealed with, and for which browser. */
export interface SealedFor {
  readonly masterKey: string;
  /** The browser comes by HTTPS. */
  readonly isSecure: boolean;
  readonly nowMs: number;
}

/** The Set-Cookie header. It is Lax: the browser must send it when the provider sends it back. Without arguments the browser forgets it. */
export function writeSignIn(kept: Kept, sealed: SealedFor): string;
export function writeSignIn(kept: undefined): string;
export function writeSignIn(kept: Kept | undefined, sealed?: SealedFor): string {
  const attributes = `Path=${path}; HttpOnly; SameSite=Lax${sealed?.isSecure === true ? '; Secure' : ''}`;
  if (kept === undefined || sealed === undefined) return `${cookieName}=; Max-Age=0; ${attributes}`;
  const text = JSON.stringify({ ...kept, endsAtMs: sealed.nowMs + signInMs });
  return `${cookieName}=${sealText(text, 'sign-in', sealed.masterKey)}; Max-Age=${signInMs / 1000}; ${attributes}`;
}
