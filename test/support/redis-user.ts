// The users with the rights that the page about Redis gives the gateway: what is documented is what is tested.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const page = readFileSync(join(import.meta.dirname, '../../deploy/REDIS.md'), 'utf8');
const [ofServers, ofSentinels] = [...page.matchAll(/^ACL SETUSER (gateway on >PASSWORD .*)$/gm)].map(
  ([, user]) => user,
);
if (ofServers === undefined || ofSentinels === undefined) throw new Error('deploy/REDIS.md has no such users');

export const userPassword = 'documented';
const withPassword = (user: string): string => `user ${user.replace('>PASSWORD', `>${userPassword}`)}`;

/** Lines of an ACL file: a default user for the test itself, and the user `gateway`. */
export const documentedUsers: readonly string[] = ['user default on nopass ~* &* +@all', withPassword(ofServers)];
/** A line of the configuration of a sentinel. */
export const documentedSentinelUser: string = withPassword(ofSentinels);

/** The address with the user `gateway`. */
export function asDocumentedUser({ url }: { readonly url: string }): string {
  return url.replace('://', `://gateway:${userPassword}@`);
}
