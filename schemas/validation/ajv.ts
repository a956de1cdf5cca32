// The compiler of JSON Schemas. It is loaded late, and a build keeps its name only through a module.
export { Ajv2020 } from 'ajv/dist/2020.js';
