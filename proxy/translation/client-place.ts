// Where something stands in the body that the client sent, when the gateway has put what was said before in front of its input.

/** `place`: in the body with all that was said, such as `input[7].content[0]`. What the client did not send itself came by `previous_response_id`. */
export function clientPlace(place: string, itemsBefore = 0): string {
  const item = itemsBefore === 0 ? null : /^input\[(\d+)\]/.exec(place);
  if (item === null) return place;
  const index = Number(item[1]) - itemsBefore;
  return index < 0 ? 'previous_response_id' : `input[${index}]${place.slice(item[0].length)}`;
}
