// Bodies of the doors under /v1 that are passed on: what they name must be their caller's.

import { referencesOfBody } from '../../kept/objects/body-references.ts';
import { claim } from '../../kept/objects/claim.ts';
import { checkBody, type Gate, GatedBody } from '../../kept/objects/gated-body.ts';
import type { KeptHomes } from '../../kept/objects/kept-homes.ts';
import { mayRefer } from '../../kept/objects/may-refer.ts';
import { seesAll } from '../../kept/owner.ts';
import type { StoredResponses } from '../../kept/responses/stored-responses.ts';
import type { OutgoingStream } from '../../upstream/send-opaque.ts';
import type { Aim, DoorParts, Knock, OpaqueDoor } from '../door.ts';

interface GateParts {
  /** Which providers keep the files and batches of callers. */
  readonly homes: KeptHomes;
  /** Those that the gateway keeps, and where providers keep others. */
  readonly storedResponses: StoredResponses;
}

/** Looks at JSON that is there; undefined: it names nothing. Rejects with 404 `kept_not_found`. `provider`: the only one that is asked; absent: it is not known. */
export function claimBody(body: Buffer, knock: Knock, parts: GateParts, provider?: string): Promise<void> | undefined {
  if (seesAll(knock.principal) || !mayRefer(body)) return undefined;
  return checkBody(body, gateOf(undefined, knock, parts, provider));
}

/** A form whose last piece passes when what it names is its caller's. */
export function gatedForm(form: OutgoingStream, knock: Knock, parts: GateParts, provider?: string): OutgoingStream {
  if (seesAll(knock.principal)) return form;
  const gate = gateOf(knock.exchange.head.contentType, knock, parts, provider);
  return { ...form, stream: new GatedBody(form.stream, gate, (refused) => knock.body.fail(refused)) };
}

function gateOf(contentType: string | undefined, knock: Knock, parts: GateParts, provider: string | undefined): Gate {
  const { principal, snapshot, body } = knock;
  return {
    reader: referencesOfBody(contentType),
    encoding: undefined,
    mostBytes: body.limit.bytes,
    check: (references) => claim(references, { principal, snapshot, provider }, parts),
  };
}

/** The door of forms with the gate before each of its targets. */
export function withGate(door: OpaqueDoor): OpaqueDoor {
  const gated = (aim: Aim, knock: Knock, gateway: DoorParts): Aim => ({
    ...aim,
    targets: aim.targets.map((target) => ({
      ...target,
      body: () => {
        const sent = target.body();
        return Buffer.isBuffer(sent) ? sent : gatedForm(sent, knock, gateway, target.upstream.name);
      },
    })),
  });
  return { ...door, aim: async (knock, gateway) => gated(await door.aim(knock, gateway), knock, gateway) };
}
