// Writes a conversation as a request of chat completions, obeying the quirks of the server.
import type { ConversationRequest, OwnMember } from '../conversation/conversation.ts';
import type { EditableObject, JsonObject } from '../json/json.ts';
import { tellOwnMembers } from '../own-losses.ts';
import type { Losses, WriteTarget } from '../translation.ts';
import { longestUser, metadataOf, tierOf, userOf, verbosityOf } from '../usual-settings.ts';
import { withMember } from './own.ts';
import { writeMessages } from './write-messages.ts';
import { writeMaxTokens, writeOutput, writeSampling, writeStop } from './write-settings.ts';
import { writeThinking } from './write-thinking.ts';
import { writeTools } from './write-tools.ts';
import { Writing } from './writing.ts';

/** The chat body for a target. Throws what `losses` throws. */
export function writeRequest(request: ConversationRequest, target: WriteTarget, losses: Losses): JsonObject {
  const writing = new Writing(request, target, losses);
  const { quirks } = target;
  const streamOptions = writing.lacks('stream_options') ? {} : { stream_options: { include_usage: true } };
  const body: JsonObject = {
    ...(quirks.isModelInPath ? {} : { model: target.model }),
    messages: writeMessages(request, writing),
    ...writeTools(request, writing),
    ...writeOutput(request, writing),
    ...writeSampling(request, writing),
    ...writeStop(request, writing),
    ...writeMaxTokens(request, writing),
    ...writeThinking(request, writing),
    ...writeLabels(request, writing),
    ...(request.stream ? { stream: true, ...streamOptions } : {}),
  };
  return withAdditions(withOwnMembers(body, request, writing), quirks.adds);
}

type LabelMember = 'user' | 'metadata' | 'serviceTier' | 'verbosity';

function unusual(request: ConversationRequest): Pick<ConversationRequest, LabelMember> {
  const verbosity = verbosityOf(request);
  return { user: userOf(request), metadata: metadataOf(request), serviceTier: tierOf(request), verbosity };
}

/** Names, labels and service classes. They are written where the server is known to accept them. */
function writeLabels(request: ConversationRequest, writing: Writing): JsonObject {
  const { dialect } = request;
  const { isOwn, quirks } = writing;
  const { user, metadata, serviceTier, verbosity } = isOwn ? request : unusual(request);
  const isInventor = quirks.isInventor === true;
  const written: EditableObject = {};
  const write = (member: LabelMember, name: string, value: JsonObject[string], isTaken: boolean): void => {
    if (value === undefined) return;
    if (isTaken && !writing.lacks(name)) written[name] = value;
    else writing.hint(member);
  };
  write('user', 'user', user, isOwn || (user?.length ?? 0) <= longestUser);
  // OpenAI takes metadata only of answers that it keeps.
  write('metadata', 'metadata', metadata, isOwn);
  write('serviceTier', 'service_tier', serviceTier, isOwn || (isInventor && dialect === 'responses'));
  write('verbosity', 'verbosity', verbosity, isOwn || isInventor);
  return written;
}

/** Members of chat's own stand where they stood; those of other dialects are lost. */
function withOwnMembers(body: JsonObject, request: ConversationRequest, writing: Writing): JsonObject {
  const isSaid = ({ path: [first = ''] }: OwnMember): boolean => {
    const isStreamOption = first === 'stream_options' && body[first] === undefined;
    return writing.isOwn && !writing.lacks(first) && !isStreamOption;
  };
  tellOwnMembers(request, writing.losses, { because: 'it has no such member', isSaid });
  return request.ownMembers.filter(isSaid).reduce((written, { path, value }) => withMember(written, path, value), body);
}

function withAdditions(body: JsonObject, adds: Readonly<Record<string, string>> | undefined): JsonObject {
  return adds === undefined ? body : { ...adds, ...body };
}
