// The state that the writers of a request share: the target's quirks, and the list of losses.
import type { ConversationRequest } from '../conversation/conversation.ts';
import { fieldName } from '../field-names.ts';
import type { Quirks } from '../quirks.ts';
import { loseForeignTool } from '../tools/foreign-tools.ts';
import type { Losses, WriteTarget } from '../translation.ts';

type Member = Parameters<typeof fieldName>[0];

export class Writing {
  readonly model: string;
  readonly quirks: Quirks;
  /** The client speaks chat too, so all of its words are written as they were. */
  readonly isOwn: boolean;
  readonly losses: Losses;
  readonly #request: ConversationRequest;
  readonly #hinted: string[] = [];

  constructor(request: ConversationRequest, target: WriteTarget, losses: Losses) {
    this.model = target.model;
    this.quirks = target.quirks;
    this.isOwn = request.dialect === 'chat';
    this.#request = request;
    this.losses = losses;
  }

  /** Of the client. */
  get dialect(): ConversationRequest['dialect'] {
    return this.#request.dialect;
  }

  /** The target refuses or does not obey this member of chat. */
  lacks(member: string): boolean {
    return this.quirks.without?.includes(member) ?? false;
  }

  /** Lists of texts, and what stands beside their texts, stay as they were. */
  get keepsLists(): boolean {
    return this.isOwn && !this.quirks.hasOnlyTextContent;
  }

  /** One of OpenAI's own models that think. */
  get isOwnThinker(): boolean {
    return this.quirks.isInventor === true && /^(o\d|gpt-5)/.test(this.model);
  }

  /** The target takes back the proof that Google's models thought. */
  get takesProof(): boolean {
    return this.isOwn || (this.quirks.takesProof ?? /(^|\/)gemini-/.test(this.model));
  }

  /** Something harmless is left out; told once. */
  hint(member: Member): void {
    const field = fieldName(member, this.#request.dialect);
    if (this.#hinted.includes(field)) return;
    this.#hinted.push(field);
    this.losses.hint(field);
  }

  /** A tool of another dialect is left out. */
  loseTool(index: number): void {
    loseForeignTool(this.#request, index, this.losses);
  }

  /** Something is left out without which the answer may be another one. */
  meaning(member: Member, because: string, place?: string): undefined {
    this.losses.meaning(fieldName(member, this.#request.dialect), because, place);
  }
}
