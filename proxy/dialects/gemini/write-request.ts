// Writes a request as the body of Gemini's `generateContent`; the model and the wish for a stream stand in its path.
import type { ConversationRequest } from '../conversation/conversation.ts';
import { type Part, placeOf, type TextPart } from '../conversation/parts.ts';
import { opening, placeInstructions } from '../conversation/placed-instructions.ts';
import { fieldName } from '../field-names.ts';
import type { JsonObject } from '../json/json.ts';
import { tellOwnMembers } from '../own-losses.ts';
import type { Losses, WriteTarget } from '../translation.ts';
import { metadataOf, tierOf, userOf, verbosityOf } from '../usual-settings.ts';
import { writeContents } from './write-contents.ts';
import { writeGeneration } from './write-generation.ts';
import { writeTools } from './write-tools.ts';

/** The `generateContent` body for a target. Throws what `losses` throws. */
export function writeRequest(request: ConversationRequest, target: WriteTarget, losses: Losses): JsonObject {
  const placed = placeInstructions(request);
  const instructions = writeInstructions(placed.leading, request.dialect, losses);
  const turns = writeContents({ ...request, turns: placed.turns }, target, losses);
  // A conversation without a turn is refused there, and one that begins with the model; instructions alone are what is said.
  const isSaid = turns.length === 0 && instructions.length > 0;
  const first = isSaid ? instructions : [{ text: opening }];
  const contents = turns[0]?.['role'] === 'user' ? turns : [{ role: 'user', parts: first }, ...turns];
  const generationConfig = writeGeneration(request, target, losses);
  const tools = writeTools(request, target, losses);
  tellLeftOut(request, losses);
  return {
    ...target.quirks.adds,
    ...(instructions.length === 0 || isSaid ? {} : { systemInstruction: { parts: instructions } }),
    contents,
    ...tools,
    ...(Object.keys(generationConfig).length === 0 ? {} : { generationConfig }),
  };
}

function writeInstructions(
  parts: readonly Part[],
  dialect: ConversationRequest['dialect'],
  losses: Losses,
): readonly JsonObject[] {
  const all = parts.filter((part): part is TextPart => part.kind === 'text');
  const other = parts.find(({ kind }) => kind !== 'text');
  if (other !== undefined)
    losses.meaning(fieldName('system', dialect), 'its instructions are text alone', placeOf(other));
  if (all.some(({ cacheMark }) => cacheMark !== undefined)) losses.hint(fieldName('cacheMark', dialect));
  return all.flatMap(({ text }) => (text === '' ? [] : [{ text }]));
}

/** Tells the settings that the format does not have. */
function tellLeftOut(request: ConversationRequest, losses: Losses): void {
  const { dialect } = request;
  const hints = {
    verbosity: verbosityOf(request),
    user: userOf(request),
    metadata: metadataOf(request),
    serviceTier: tierOf(request),
  } as const;
  for (const member of Object.keys(hints) as (keyof typeof hints)[]) {
    if (hints[member] !== undefined) losses.hint(fieldName(member, dialect));
  }
  if (request.turns.some(({ name }) => name !== undefined)) losses.hint(fieldName('turnName', dialect));
  tellOwnMembers(request, losses, { because: 'it has no such setting' });
}
