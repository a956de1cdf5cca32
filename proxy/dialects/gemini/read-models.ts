// Reads the answer to GET /models of the Gemini API: `{"models": [{"name": "models/…", "supportedGenerationMethods": […]}, …]}`.
import { listOf, objectOf, parseObject, textOf } from '../json.ts';

/** Methods that an endpoint of the gateway can stand for. */
const methods: readonly unknown[] = ['generateContent', 'embedContent'];
const prefix = 'models/';

/** The ids of models that can be asked, in their order, without `models/`; undefined when the text is no such list. */
export function readModels(text: string): readonly unknown[] | undefined {
  const models = listOf(parseObject(text)?.['models']);
  return models?.flatMap((model) => {
    const { name, supportedGenerationMethods } = objectOf(model) ?? {};
    if (!listOf(supportedGenerationMethods)?.some((method) => methods.includes(method))) return [];
    const id = textOf(name);
    return [id?.startsWith(prefix) ? id.slice(prefix.length) : id];
  });
}
