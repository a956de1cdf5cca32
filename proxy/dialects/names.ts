// The wire formats by name, and what each is called where people read it.

/** Formats that clients and providers speak. `chat` includes the whole family of OpenAI-compatible servers. */
export type ClientDialectName = 'chat' | 'completions' | 'responses' | 'messages';
/** All formats. */
export type DialectName = ClientDialectName | 'gemini' | 'bedrock';
