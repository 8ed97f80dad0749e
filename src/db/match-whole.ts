/** What a text says in a form (flag g). @throws Error for what it says in another: that would be lost */
export function matchWhole(text: string, form: RegExp): RegExpExecArray[] {
  const rest = text.replace(form, '').trim()
  if (rest !== '') throw new Error(`This has another form than what stands beside it: ${rest.slice(0, 100)}`)
  return [...text.matchAll(form)]
}
