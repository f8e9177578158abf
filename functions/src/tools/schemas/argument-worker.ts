import { answerQuestions } from './answer-questions.ts'
import { createValidateArguments } from './validate-arguments.ts'

// A separate program. Its questions are definitions and arguments.
answerQuestions(createValidateArguments())
