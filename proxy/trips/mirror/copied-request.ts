// Which requests may be copied to a mirror: those that only ask for words, and leave nothing behind at a provider.
import { allowsTarget } from '../../../domain/keys/model-access.ts';
import { memberNamed } from '../../bytes/member-named.ts';
import { type Call, memberOf } from '../../call/call.ts';
import { objectOf, parseJson, textOf } from '../../dialects/json/json.ts';
import { type ModelRow, mirroredOperations } from '../../endpoints/model-endpoints.ts';
import { referencesOfBody } from '../../kept/objects/body-references.ts';
import { checkBody } from '../../kept/objects/gated-body.ts';
import { mayRefer } from '../../kept/objects/may-refer.ts';
import type { Snapshot, Target } from '../../snapshot/snapshot.ts';
import type { Principal } from '../../stages/authenticate.ts';

/** The types of tools that the client itself runs; those of Anthropic have none, or `custom`. */
const ownTools: ReadonlySet<string | undefined> = new Set([undefined, 'function', 'custom']);
/** A longer list of tools is not read. Bytes. */
const longestTools = 256 * 1024;
/** The first letter of `true`. */
const letterT = 0x74;
const letterF = 0x66;

/**
 * Whether a call may be sent a second time, to another model. Not: one whose answer is to be stored, that goes on from another one, that sends
 * a provider elsewhere, or that has tools which a provider runs, because they would act twice.
 */
export function mayBeCopied(call: Call, row: ModelRow): boolean {
  if (!mirroredOperations.has(row.operation) || call.continues !== undefined || call.routingMember !== undefined)
    return false;
  const store = firstByteOf(call, 'store');
  if (row.keepsAnswers ? store !== letterF : store === letterT) return false;
  if (firstByteOf(call, 'background') === letterT || memberOf(call, 'previous_response_id') !== undefined) return false;
  if (memberNamed(call.body, call.members, 'mcp_servers') !== undefined) return false;
  return hasOwnToolsOnly(call);
}

function firstByteOf(call: Call, name: string): number | undefined {
  const member = memberOf(call, name);
  return member && call.body[member.valueStart];
}

function hasOwnToolsOnly({ body, members }: Call): boolean {
  if (memberNamed(body, members, 'web_search_options') !== undefined) return false;
  const member = memberNamed(body, members, 'tools');
  if (member === undefined) return true;
  const { valueStart, valueEnd } = member;
  const tools =
    valueEnd - valueStart > longestTools ? undefined : parseJson(body.toString('utf8', valueStart, valueEnd));
  return Array.isArray(tools) && tools.every((tool) => ownTools.has(textOf(objectOf(tool)?.['type'])));
}

/** Whether a body refers to objects that a provider keeps, such as files: another one does not have them. */
export async function refersToObjects({ body }: Call): Promise<boolean> {
  if (!mayRefer(body)) return false;
  let found = 0;
  await checkBody(body, {
    reader: referencesOfBody(undefined),
    encoding: undefined,
    mostBytes: Number.POSITIVE_INFINITY,
    check: async (references) => {
      found += references.length;
    },
  });
  return found > 0;
}

/** Whether the caller may use the model of the mirror by its own name: what an alias grants does not reach it. */
export function mayUse(caller: Principal, { upstream, model }: Target, { providers }: Snapshot): boolean {
  const { allowedModels } = caller;
  return allowedModels === undefined || allowsTarget(allowedModels, upstream.name, model, providers);
}
