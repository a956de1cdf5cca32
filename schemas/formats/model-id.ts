// The form of a model id, from the schema of a provider's `models`.
import providers from '../config/providers.schema.json' with { type: 'json' };

const { pattern, maxLength } = providers.$defs.model.properties.id;
const shape = new RegExp(pattern, 'u');

/** Whether a provider may list this id. A * is refused, too: it would look like a pattern. */
export function isModelId(id: unknown): id is string {
  return typeof id === 'string' && id.length <= maxLength && !id.includes('*') && shape.test(id);
}
