// The table of objects that providers keep for the account of the gateway, and that belong to the caller that made them: where they stand in
// paths, by which members bodies and queries refer to them, and which answers make them. Both doors, /v1 and /p, go by it.

export type FamilyName =
  | 'file'
  | 'upload'
  | 'batch'
  | 'message_batch'
  | 'response'
  | 'item'
  | 'message'
  | 'thread_message'
  | 'conversation'
  | 'interaction'
  | 'completion'
  | 'vector_store'
  | 'container'
  | 'fine_tuning_job'
  | 'eval'
  | 'assistant'
  | 'thread'
  | 'video'
  | 'skill'
  | 'voice'
  | 'call'
  | 'cached_content'
  | 'file_search_store'
  | 'tuned_model'
  | 'agent'
  | 'library'
  | 'dataset'
  | 'job'
  | 'generation';

/** The effect of a word behind a place that is not an id, such as `threads/runs`. */
export type PlaceAction = 'free' | 'creates';

export interface Family {
  /** In messages. */
  readonly what: string;
  /** Where its objects stand: the last segments before an id, in lower case, whatever stands before them. */
  readonly places: readonly string[];
  /** Words that stand where an id would. */
  readonly actions?: Readonly<Record<string, PlaceAction>>;
  /** A POST at the place makes an object only if its body says `"store": true`; it is a model call. */
  readonly isModelCall?: true;
  /**
   * Members, form fields and parameters that name one, as `foldedName` writes them. Longer names that end so count, too: `input_file_id`.
   * Objects in them may say the id as `id`.
   */
  readonly members: readonly string[];
  /** Its members also name what is no such object: one that is not known passes. */
  readonly isSoft?: true;
  /** How its ids look where a member may say something else, too; absent: any text is one. */
  readonly form?: RegExp;
  /** Members of an answer that hold further objects of its maker, by their paths; `*` stands for each of a list. */
  readonly holds?: Readonly<Record<string, FamilyName>>;
  /** Members of an answer that name the object, by their paths; default: `id`, else `name`. */
  readonly named?: readonly string[];
  /** Words behind an id that make a further object of the family. */
  readonly spawns?: readonly string[];
}

const uuid = '[0-9a-fA-F]{8}-[0-9a-fA-F-]{20,40}';
/** Members with the results of a batch or a job: they belong to its creator. */
const results = {
  output_file_id: 'file',
  error_file_id: 'file',
  output_file: 'file',
  error_file: 'file',
  'result_files.*': 'file',
  'validation_files.*': 'file',
} as const;

/** Objects that tools of Anthropic have made, in answers and in their events. */
const madeByTools = {
  'container.id': 'container',
  'message.container.id': 'container',
  'delta.container.id': 'container',
  'content.*.content.content.*.file_id': 'file',
  'content_block.content.content.*.file_id': 'file',
} as const;

export const families: Readonly<Record<FamilyName, Family>> = {
  file: {
    what: 'file',
    places: ['files'],
    members: ['fileid', 'fileids', 'trainingfile', 'validationfile', 'trainingfiles', 'validationfiles', 'inputfiles'],
    named: ['id', 'file.name', 'name'],
  },
  upload: { what: 'upload', places: ['uploads'], members: ['uploadid'], holds: { 'file.id': 'file' } },
  batch: {
    what: 'batch',
    places: ['batches', 'batch/jobs', 'batchpredictionjobs'],
    members: ['batchid', 'batchids'],
    holds: results,
  },
  message_batch: {
    what: 'batch of messages',
    places: ['messages/batches'],
    members: ['messagebatchid'],
  },
  response: {
    what: 'response',
    places: ['responses'],
    actions: { compact: 'free', input_tokens: 'free' },
    members: ['responseid', 'responseids'],
    form: /^[A-Za-z]+[_-]|^[0-9A-Fa-f-]{16,}$/,
    holds: { 'output.*.id': 'item', 'output.*.container_id': 'container' },
  },
  item: { what: 'item', places: [], members: [] },
  /** An answer of Anthropic, which is not kept: what its tools have made is. */
  message: {
    what: 'message',
    places: [],
    members: [],
    holds: madeByTools,
  },
  /** An answer of Anthropic with which a provider keeps what was said (`thread`). */
  thread_message: {
    what: 'message',
    places: [],
    members: ['previousmessageid'],
    // `diagnostics` names any answer so.
    isSoft: true,
    holds: { ...madeByTools, id: 'thread_message', 'message.id': 'thread_message' },
  },
  conversation: {
    what: 'conversation',
    places: ['conversations'],
    members: ['conversation', 'conversationid'],
    form: /^conv[_-]/,
    named: ['id', 'conversation_id'],
  },
  interaction: { what: 'interaction', places: ['interactions'], members: ['interactionid'] },
  completion: {
    what: 'stored completion',
    places: ['chat/completions', 'chat/deferred-completion'],
    isModelCall: true,
    members: ['completionid'],
    form: /^chatcmpl[_-]/,
    named: ['id', 'request_id'],
  },
  vector_store: {
    what: 'vector store',
    places: ['vector_stores', 'collections'],
    members: ['vectorstoreid', 'vectorstoreids', 'collectionid', 'collectionids'],
    form: new RegExp(`^(?:vs|collection)[_-]|^${uuid}$`),
  },
  container: {
    what: 'container',
    places: ['containers'],
    members: ['container', 'containerid'],
    form: /^(?:cntr|container)[_-]/,
  },
  fine_tuning_job: {
    what: 'fine-tuning job',
    places: ['fine_tuning/jobs', 'fine-tunes', 'tuningjobs', 'finetuning/finetuned-models'],
    members: ['finetuningjobid'],
    holds: results,
  },
  eval: { what: 'eval', places: ['evals'], members: ['evalid', 'evalids'], form: /^eval[_-]/ },
  assistant: { what: 'assistant', places: ['assistants'], members: ['assistantid'], form: /^asst[_-]/ },
  thread: {
    what: 'thread',
    places: ['threads', 'chatkit/threads'],
    actions: { runs: 'creates' },
    members: ['threadid'],
    form: /^thread[_-]|^cthr[_-]/,
    named: ['thread_id', 'id'],
  },
  video: {
    what: 'video',
    places: ['videos', 'video/generations', 'video/generations/jobs'],
    actions: { generations: 'creates', edits: 'creates', extensions: 'creates' },
    members: ['video', 'videos', 'videoid'],
    form: /^video[_-]/,
    named: ['id', 'request_id'],
    holds: { 'generations.*.id': 'video' },
    spawns: ['remix', 'edits', 'extensions'],
  },
  skill: { what: 'skill', places: ['skills'], members: ['skillid', 'skillids'], form: /^skill_/ },
  voice: {
    what: 'voice',
    places: ['audio/voices', 'audio/voice_consents'],
    members: ['voice', 'voiceid', 'consent'],
    form: /^(?:voice|cons)_[A-Za-z0-9]{8}/,
  },
  call: { what: 'call', places: ['realtime/calls'], members: ['callid'], form: /^rtc_/ },
  cached_content: {
    what: 'cached content',
    places: ['cachedcontents'],
    members: ['cachedcontent', 'cachedcontents'],
    named: ['name'],
  },
  file_search_store: {
    what: 'file search store',
    places: ['filesearchstores', 'corpora', 'ragcorpora'],
    members: ['filesearchstorename', 'filesearchstorenames', 'ragcorpus'],
    named: ['name'],
  },
  tuned_model: { what: 'tuned model', places: ['tunedmodels'], members: ['tunedmodel'], named: ['name'] },
  agent: {
    what: 'agent',
    places: ['agents', 'sessions', 'environments', 'vaults', 'memory_stores', 'reasoningengines'],
    members: ['agentid'],
    form: new RegExp(`^(?:agent|ag|sesn|session|env|vlt|vault|memstore)_|^${uuid}$`),
  },
  library: {
    what: 'library',
    places: ['libraries'],
    members: ['libraryid', 'libraryids'],
    form: new RegExp(`^${uuid}$`),
  },
  dataset: {
    what: 'dataset',
    places: ['datasets', 'connectors'],
    members: ['datasetid'],
    form: /^[a-z0-9]+-[a-z0-9-]+$/,
  },
  job: { what: 'job', places: ['embed-jobs', 'operations'], members: [], named: ['job_id', 'name', 'id'] },
  /** A request and its answer, kept by a router. */
  generation: { what: 'generation', places: ['generation'], members: [] },
};

/** Places of no object: what stands there may be asked by anyone. Longer places go before shorter ones. */
export const freePlaces: ReadonlySet<string> = new Set([
  'realtime/sessions',
  'chatkit/sessions',
  'realtime/client_secrets',
]);

/** Places of the whole account, for the operator alone. */
export const operatorPlaces: ReadonlySet<string> = new Set([
  'organization',
  'organizations',
  'fine_tuning/checkpoints',
  'batch',
  'async-invoke',
  'model-invocation-job',
  'model-invocation-jobs',
  'model-customization-jobs',
  'custom-models',
  'key',
  'api-key',
  'keys',
  'credits',
  'balance',
  'activity',
  'evaluation',
  'evaluations',
  'load_lora_adapter',
  'unload_lora_adapter',
]);

/** Of models, which all may read and ask: who made one is not known, so the operator alone changes it. */
export const modelPlace = 'models';

/** The calls of models that make an object, by the verb behind the model's name, in lower case. */
export const modelVerbs: Readonly<Record<string, FamilyName>> = {
  predictlongrunning: 'job',
  batchgeneratecontent: 'batch',
  asyncbatchembedcontent: 'batch',
};

/** A name of a member without what spellings differ by: `fileIds`, `file_ids`, `file_ids[0]` and `FILE-IDS` are one. */
export function foldedName(name: string): string {
  return name.toLowerCase().replace(/[^a-z]/g, '');
}
