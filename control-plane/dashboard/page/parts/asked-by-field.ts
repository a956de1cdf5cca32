// The field that tells requests of clients and questions of the gateway itself apart.
import type { FilterField } from './filter-form.ts';

export const askedByField: FilterField = {
  name: 'asked_by',
  label: 'Asked by',
  options: [
    ['', 'Clients and the gateway'],
    ['client', 'Clients'],
    ['gateway', 'The gateway'],
  ],
};
