// The rights of a verified token, and the claims behind each of them; or why it has none. The value of a claim is in no message.
import type { DashboardRight } from '../../schemas/types.ts';
import type { Claims } from '../conditions/claim-path.ts';
import type { Facts } from '../conditions/facts.ts';
import { onlyPath } from '../conditions/facts.ts';
import type { Cause, Given, Identity, RightName } from './identity.ts';
import { fillPath, fillTexts, type Template } from './template.ts';

/** What the caller may do, as a key says it. */
export interface IdentityRights {
  /** The claim sub. */
  readonly subject: string;
  /** What records and the audit call the caller: `NAME:SUBJECT`. */
  readonly id: string;
  /** Normalised. */
  readonly userPath: string;
  readonly labels: readonly string[];
  /** Empty: every model. */
  readonly allowedModels: readonly string[];
  /** Undefined: no access. */
  readonly dashboard: DashboardOfToken | undefined;
  /** Where each right comes from; one that nothing gives is absent. */
  readonly because: Readonly<Partial<Record<RightName, Cause>>>;
}

/** Access to the admin API and the dashboard. */
export interface DashboardOfToken {
  readonly role: DashboardRight['role'];
  /** The operator sees and changes this user path and the paths below it. */
  readonly userPath: string;
}

/** What of a token is not as it must be. */
export type ClaimCheck = 'sub' | 'deny' | 'required_claims' | RightName;

/** Why a token has no rights. */
export interface RefusedClaims {
  readonly check: ClaimCheck;
  /** A sentence without its end, for the one who sent the token. */
  readonly message: string;
}

export type Verdict =
  | { readonly rights: IdentityRights; readonly refused?: undefined }
  | { readonly rights?: undefined; readonly refused: RefusedClaims };

const longestSubject = 255;
const mostLabels = 50;
const longestLabel = 100;
const mostModels = 1000;
const longestModel = 320;
/** As schemas have labels and models: no blank at the ends, no invisible character. */
const shown =
  /^[^\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]([^\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]*[^\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}])?$/u;

class Refused extends Error {
  readonly check: ClaimCheck;

  constructor(check: ClaimCheck, message: string) {
    super(message);
    this.check = check;
  }
}

/** The rights that an identity gives for the claims of a token, whose signature, issuer, audience and times were checked before. Pure. */
export function rightsOf(identity: Identity, claims: Claims): Verdict {
  try {
    const subject = subjectOf(identity, claims);
    checkRequired(identity, claims);
    const facts: Facts = { ...onlyPath('/'), path: undefined, claims };
    const because: Partial<Record<RightName, Cause>> = {};
    const first = <Right>(name: RightName, all: readonly Given<Right>[]): Right | undefined => {
      const found = all.find(({ when }) => when === undefined || when.holds(facts) === true);
      if (found !== undefined) because[name] = { from: found.from, claims: found.claims };
      return found?.right;
    };
    const userPath = pathOf('user_path', first('user_path', identity.userPath), claims);
    const labels = textsOf('labels', first('labels', identity.labels) ?? [], claims);
    const models = first('allowed_models', identity.allowedModels);
    const allowedModels = models === undefined ? [] : textsOf('allowed_models', models, claims);
    if (models !== undefined && allowedModels.length === 0)
      throw new Refused('allowed_models', 'the claims of the token leave it no model');
    const given = first('dashboard', identity.dashboard);
    const dashboard =
      given === undefined
        ? undefined
        : {
            role: given.role,
            userPath: given.userPath === undefined ? userPath : pathOf('dashboard', given.userPath, claims),
          };
    return {
      rights: { subject, id: `${identity.name}:${subject}`, userPath, labels, allowedModels, dashboard, because },
    };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { refused: { check: error.check, message: error.message } };
  }
}

/** Throws for a token without a subject that can be shown, and for one that is denied. */
function subjectOf({ place, deniedSubjects, deniedTokens }: Identity, { sub, jti }: Claims): string {
  if (typeof sub !== 'string' || sub.length > longestSubject || !shown.test(sub))
    throw new Refused('sub', `the claim sub is not a text of 1 to ${longestSubject} visible characters`);
  if (deniedSubjects.has(sub)) throw new Refused('deny', `its subject is denied (${place}.deny.subjects)`);
  if (typeof jti === 'string' && deniedTokens.has(jti))
    throw new Refused('deny', `this token is denied (${place}.deny.jti)`);
  return sub;
}

function checkRequired({ place, requiredClaims }: Identity, claims: Claims): void {
  for (const [claim, wanted] of requiredClaims) {
    const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    if (values.some((each) => wanted.some((one) => one === each))) continue;
    const found = value === undefined ? 'missing' : 'not the one that is required';
    throw new Refused('required_claims', `the claim ${claim} is ${found} (${place}.required_claims)`);
  }
}

function pathOf(name: RightName, template: Template | undefined, claims: Claims): string {
  const filled =
    template === undefined ? { problem: 'nothing gives the token a user path' } : fillPath(template, claims);
  if (filled.problem !== undefined) throw new Refused(name, filled.problem);
  return filled.made;
}

function textsOf(name: 'labels' | 'allowed_models', templates: readonly Template[], claims: Claims): readonly string[] {
  const [longest, most] = name === 'labels' ? [longestLabel, mostLabels] : [longestModel, mostModels];
  const texts = templates.flatMap((template) => {
    const filled = fillTexts(template, claims);
    if (filled.problem !== undefined) throw new Refused(name, filled.problem);
    if (filled.made.every((text) => text.length <= longest && shown.test(text))) return filled.made;
    const of = `made of ${template.claims.join(', ')}`;
    throw new Refused(
      name,
      `a text ${of} is longer than ${longest} characters, begins or ends with a blank, or holds an invisible character`,
    );
  });
  if (texts.length > most) throw new Refused(name, `the claims of the token give it more than ${most}`);
  return [...new Set(texts)];
}
