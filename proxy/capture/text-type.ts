// Which bodies are recorded: those that are text. Uploads, speech and images are not, whatever their bytes look like.

const telling =
  /^\s*(?:text\/|application\/(?:[\w.-]+\+)?(?:json|xml)\b|application\/(?:x-)?(?:ndjson|jsonl|jsonlines|json-seq|www-form-urlencoded)\b)/i;

/** Whether a body of this media type is text; without a type its bytes say it. */
export function isTextType(contentType: string | undefined): boolean {
  return contentType === undefined || telling.test(contentType);
}
