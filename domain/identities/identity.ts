// An identity of the configuration, ready to be asked for the rights of a token.
import { durationMs, retentionMs } from '../../schemas/formats/units.ts';
import type { DashboardRight, Identity as WrittenIdentity } from '../../schemas/types.ts';
import { type Condition, readClaimCondition } from '../conditions/condition.ts';
import { type Filled, readPathTemplate, readTextTemplate, type Template } from './template.ts';

/** The rights that come from claims, in the order in which they are shown. */
export const rightNames = ['user_path', 'labels', 'allowed_models', 'dashboard'] as const;
export type RightName = (typeof rightNames)[number];

/** Where a right comes from. */
export interface Cause {
  /** The place in the configuration: `identities.company.rights[0].dashboard`. */
  readonly from: string;
  /** The claims that it is made of, and those that the condition of its entry asks for. */
  readonly claims: readonly string[];
}

/** The right that an entry gives, where its condition holds. */
export interface Given<Right> extends Cause {
  /** Undefined: for every token. */
  readonly when: Condition | undefined;
  readonly right: Right;
}

export interface DashboardTemplate {
  readonly role: DashboardRight['role'];
  /** Undefined: the user path of the token. */
  readonly userPath: Template | undefined;
}

/** For each right, who gives it: the first one whose condition holds. */
export interface Identity {
  readonly name: string;
  /** Where it is written: `identities.company`. */
  readonly place: string;
  readonly issuer: string;
  /** Undefined: the metadata of the issuer name it. */
  readonly jwksUri: string | undefined;
  readonly allowPrivate: boolean;
  readonly audiences: readonly string[];
  readonly algorithms: readonly string[];
  readonly clockSkewMs: number;
  readonly keysKeptForMs: number;
  readonly requiredClaims: ReadonlyMap<string, readonly (string | number | boolean)[]>;
  readonly deniedSubjects: ReadonlySet<string>;
  readonly deniedTokens: ReadonlySet<string>;
  readonly userPath: readonly Given<Template>[];
  readonly labels: readonly Given<readonly Template[]>[];
  readonly allowedModels: readonly Given<readonly Template[]>[];
  readonly dashboard: readonly Given<DashboardTemplate>[];
}

/** The members that give rights, beside the list of rights and in its entries. */
type Giving = Partial<Pick<WrittenIdentity, 'user_path' | 'labels' | 'allowed_models'>> & {
  readonly when?: string;
  readonly dashboard?: DashboardRight;
};

/** The name of the identity of client certificates: no entry of the configuration has it. */
export const certificateIdentity = 'certificate';

/** The identity of a checked entry. `place`: where it is written. Throws for one with a mistake in a template. `loadExpressionParser` must have ended before. */
export function identityOf(name: string, written: WrittenIdentity, place: string = `identities.${name}`): Identity {
  const entries: { readonly at: string; readonly giving: Giving; readonly when: Condition | undefined }[] = [
    ...written.rights.map((giving, index) => ({
      at: `${place}.rights[${index}]`,
      giving,
      when: conditionOf(giving.when),
    })),
    { at: place, giving: written, when: undefined },
  ];
  function given<Member extends RightName, Right>(
    member: Member,
    read: (value: NonNullable<Giving[Member]>) => { readonly right: Right; readonly claims: readonly string[] },
  ): Given<Right>[] {
    return entries.flatMap(({ at, giving, when }) => {
      const value = giving[member];
      if (value === undefined) return [];
      const { right, claims } = read(value);
      return [{ from: `${at}.${member}`, when, right, claims: [...new Set([...(when?.claims ?? []), ...claims])] }];
    });
  }
  const { audience, deny } = written;
  return Object.freeze({
    name,
    place,
    issuer: written.issuer,
    jwksUri: written.jwks_uri,
    allowPrivate: written.allow_private,
    audiences: typeof audience === 'string' ? [audience] : audience,
    algorithms: written.algorithms,
    clockSkewMs: durationMs(written.clock_skew),
    keysKeptForMs: retentionMs(written.keys_kept_for),
    requiredClaims: new Map(
      Object.entries(written.required_claims ?? {}).map(([claim, value]) => [
        claim,
        Array.isArray(value) ? value : [value],
      ]),
    ),
    deniedSubjects: new Set(deny.subjects),
    deniedTokens: new Set(deny.jti),
    userPath: given('user_path', (text) => withClaims(made(readPathTemplate(text)))),
    labels: given('labels', texts),
    allowedModels: given('allowed_models', texts),
    dashboard: given('dashboard', ({ role, user_path: path }) => {
      const userPath = path === undefined ? undefined : made(readPathTemplate(path));
      return { right: { role, userPath }, claims: userPath?.claims ?? [] };
    }),
  });
}

/** The identities of a checked configuration. Throws as `identityOf` does. */
export function identitiesOf(written: Readonly<Record<string, WrittenIdentity>>): readonly Identity[] {
  return Object.entries(written).map(([name, each]) => identityOf(name, each));
}

function conditionOf(text: string | undefined): Condition | undefined {
  if (text === undefined) return undefined;
  const { condition, problem } = readClaimCondition(text);
  if (condition === undefined) throw new Error(`the condition ${text} ${problem}`);
  return condition;
}

function texts(written: readonly string[]): {
  readonly right: readonly Template[];
  readonly claims: readonly string[];
} {
  const right = written.map((text) => made(readTextTemplate(text)));
  return { right, claims: right.flatMap(({ claims }) => claims) };
}

function withClaims(right: Template): { readonly right: Template; readonly claims: readonly string[] } {
  return { right, claims: right.claims };
}

function made(read: Filled<Template>): Template {
  if (read.problem !== undefined) throw new Error(`the template ${read.problem}`);
  return read.made;
}
