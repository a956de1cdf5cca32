// Reads the answer to GET /models: `{"object": "list", "data": [{"id": …}, …]}`; some providers send the list alone.

/** The ids in their order, whatever they are; undefined when the text is no such list. */
export function readModels(text: string): readonly unknown[] | undefined {
  let said: unknown;
  try {
    said = JSON.parse(text);
  } catch {
    return undefined;
  }
  const list: unknown = Array.isArray(said) ? said : (said as { data?: unknown } | null)?.data;
  if (!Array.isArray(list)) return undefined;
  return list.map((entry: unknown) => (entry as { id?: unknown } | null | undefined)?.id);
}
