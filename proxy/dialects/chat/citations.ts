// Citations in the words of chat: annotations of the type `url_citation`, and the lists of sources that Perplexity adds.
import type { Citation } from '../conversation/parts.ts';
import { type JsonObject, type JsonValue, listOf, numberOf, objectOf, textOf } from '../json/json.ts';

/** The citations in a list of annotations. */
export function readAnnotations(value: JsonValue | undefined): readonly Citation[] {
  return (listOf(value) ?? []).flatMap((entry): readonly Citation[] => {
    const annotation = objectOf(entry);
    if (annotation === undefined) return [];
    const cited = objectOf(annotation['url_citation']);
    if (cited === undefined) return [{ own: { dialect: 'chat', members: annotation } }];
    return [
      {
        url: textOf(cited['url']),
        title: textOf(cited['title']),
        citedText: textOf(cited['content']),
        ...rangeOf(cited),
      },
    ];
  });
}

/** A range without a character is none: writers who know no place have to name one. */
function rangeOf(cited: JsonObject): Pick<Citation, 'start' | 'end'> {
  const start = numberOf(cited['start_index']);
  const end = numberOf(cited['end_index']);
  return end === undefined || end <= (start ?? 0) ? {} : { start, end };
}

/** The sources that stand beside the choices (Perplexity): `search_results`, or the bare URLs of `citations`. */
export function readSources(body: JsonObject): readonly Citation[] {
  const results = (listOf(body['search_results']) ?? []).flatMap((entry) => {
    const result = objectOf(entry);
    const url = textOf(result?.['url']);
    return url === undefined ? [] : [{ url, title: textOf(result?.['title']) }];
  });
  if (results.length > 0) return results;
  return (listOf(body['citations']) ?? []).flatMap((url) => (typeof url === 'string' ? [{ url }] : []));
}

/** Annotations of a message whose text before the cited part has `shift` characters. Citations without a URL cannot be said. */
export function writeAnnotations(citations: readonly Citation[] | undefined, shift: number): readonly JsonObject[] {
  return (citations ?? []).flatMap(({ url, title, citedText, start, end, own }): readonly JsonObject[] => {
    if (own?.dialect === 'chat') return [own.members];
    if (url === undefined) return [];
    const cited = {
      url,
      title: title ?? url,
      content: citedText,
      start_index: shift + (start ?? 0),
      end_index: shift + (end ?? start ?? 0),
    };
    return [{ type: 'url_citation', url_citation: cited }];
  });
}
