// Where Converse is below the base URL of a region.

/** The path of a call. `model`: an id, or the ARN of a profile; its colons and slashes are encoded, as the signature wants it. */
export function conversePath(model: string, isStreaming: boolean): string {
  return `/model/${encodeURIComponent(model)}/converse${isStreaming ? '-stream' : ''}`;
}
