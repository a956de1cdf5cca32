// Judges a body by the API description.
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { describeApi } from '../../schemas/openapi/document.ts';

const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema({ ...JSON.parse(JSON.stringify(describeApi())), $id: 'openapi.json' });

/** Each is compiled once. */
const validators = new Map<string, ValidateFunction>();

/** The mistakes in a body under a component schema such as `RateLimits`; a sentence each. */
export function componentProblems(component: string, body: unknown): string[] {
  const validate = validators.get(component) ?? ajv.compile({ $ref: `openapi.json#/components/schemas/${component}` });
  validators.set(component, validate);
  return validate(body) ? [] : (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message}`);
}
