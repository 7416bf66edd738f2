// The dispatch macros of the minimal LibTorch: a lambda that is called where it stands, with a
// switch over the dtype and the body once for each case.
#pragma once

#define AT_DISPATCH_CASE_AS(enum_type, hint, ...)             \
  case enum_type: {                                           \
    using hint = ::c10::ScalarTypeToCPPTypeT<enum_type>;      \
    return __VA_ARGS__();                                     \
  }
#define AT_DISPATCH_CASE(enum_type, ...) AT_DISPATCH_CASE_AS(enum_type, scalar_t, __VA_ARGS__)
#define AT_DISPATCH_SWITCH(type, name, ...)                              \
  [&] {                                                                  \
    const auto& the_type = type;                                         \
    ::c10::ScalarType _st = ::detail::scalar_type(the_type);             \
    switch (_st) {                                                       \
      __VA_ARGS__                                                        \
      default:                                                           \
        TORCH_CHECK(false, name, " not implemented for ", toString(_st)); \
    }                                                                    \
  }()

// Each family once: its cases, which others are made of, and the dispatch over them alone.
#define AT_DISPATCH_CASE_FLOATING_TYPES(...) \
  AT_DISPATCH_CASE(::at::ScalarType::Double, __VA_ARGS__) \
  AT_DISPATCH_CASE(::at::ScalarType::Float, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES(type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(...) \
  AT_DISPATCH_CASE(::at::ScalarType::Half, __VA_ARGS__) \
  AT_DISPATCH_CASE(::at::ScalarType::BFloat16, __VA_ARGS__)
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(...) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(::at::ScalarType::Half, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(__VA_ARGS__))
#define AT_DISPATCH_CASE_COMPLEX_TYPES(...) \
  AT_DISPATCH_CASE(::at::ScalarType::ComplexDouble, __VA_ARGS__) \
  AT_DISPATCH_CASE(::at::ScalarType::ComplexFloat, __VA_ARGS__)
#define AT_DISPATCH_COMPLEX_TYPES(type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__))
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(...) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES(type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__))
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...) \
  AT_DISPATCH_CASE(::at::ScalarType::Byte, __VA_ARGS__) \
  AT_DISPATCH_CASE(::at::ScalarType::Char, __VA_ARGS__) \
  AT_DISPATCH_CASE(::at::ScalarType::Int, __VA_ARGS__) \
  AT_DISPATCH_CASE(::at::ScalarType::Long, __VA_ARGS__) \
  AT_DISPATCH_CASE(::at::ScalarType::Short, __VA_ARGS__)
#define AT_DISPATCH_INTEGRAL_TYPES(type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_CASE_ALL_TYPES(...) \
  AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES(type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(...) \
  AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX(type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__))
#define AT_DISPATCH_CASE_ALL_TYPES_AND_HALF(...) \
  AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(::at::ScalarType::Half, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_HALF(type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_ALL_TYPES_AND_HALF(__VA_ARGS__))
#define AT_DISPATCH_CASE_INDEX_TYPES(...) \
  AT_DISPATCH_CASE_AS(::at::ScalarType::Int, index_t, __VA_ARGS__) \
  AT_DISPATCH_CASE_AS(::at::ScalarType::Long, index_t, __VA_ARGS__)
#define AT_DISPATCH_INDEX_TYPES(type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_INDEX_TYPES(__VA_ARGS__))

// The same with one to four further dtypes.
#define DTYPECHECK_CASES2(type1, type2, ...) \
  AT_DISPATCH_CASE(type1, __VA_ARGS__) AT_DISPATCH_CASE(type2, __VA_ARGS__)
#define DTYPECHECK_CASES3(type1, type2, type3, ...) \
  DTYPECHECK_CASES2(type1, type2, __VA_ARGS__) AT_DISPATCH_CASE(type3, __VA_ARGS__)
#define DTYPECHECK_CASES4(type1, type2, type3, type4, ...) \
  DTYPECHECK_CASES2(type1, type2, __VA_ARGS__) DTYPECHECK_CASES2(type3, type4, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND(type1, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) \
                     AT_DISPATCH_CASE(type1, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(type1, type2, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) \
                     DTYPECHECK_CASES2(type1, type2, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND3(type1, type2, type3, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) \
                     DTYPECHECK_CASES3(type1, type2, type3, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND4(type1, type2, type3, type4, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) \
                     DTYPECHECK_CASES4(type1, type2, type3, type4, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(type1, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) \
                     AT_DISPATCH_CASE(type1, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(type1, type2, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) \
                     DTYPECHECK_CASES2(type1, type2, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND3(type1, type2, type3, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) \
                     DTYPECHECK_CASES3(type1, type2, type3, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND4(type1, type2, type3, type4, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) \
                     DTYPECHECK_CASES4(type1, type2, type3, type4, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND(type1, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) \
                     AT_DISPATCH_CASE(type1, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2(type1, type2, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) \
                     DTYPECHECK_CASES2(type1, type2, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND3(type1, type2, type3, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) \
                     DTYPECHECK_CASES3(type1, type2, type3, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND4(type1, type2, type3, type4, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) \
                     DTYPECHECK_CASES4(type1, type2, type3, type4, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND(type1, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) \
                     AT_DISPATCH_CASE(type1, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND2(type1, type2, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) \
                     DTYPECHECK_CASES2(type1, type2, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3(type1, type2, type3, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) \
                     DTYPECHECK_CASES3(type1, type2, type3, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND4(type1, type2, type3, type4, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) \
                     DTYPECHECK_CASES4(type1, type2, type3, type4, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES_AND(type1, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) \
                     AT_DISPATCH_CASE(type1, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES_AND2(type1, type2, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) \
                     DTYPECHECK_CASES2(type1, type2, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES_AND3(type1, type2, type3, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) \
                     DTYPECHECK_CASES3(type1, type2, type3, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES_AND4(type1, type2, type3, type4, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) \
                     DTYPECHECK_CASES4(type1, type2, type3, type4, __VA_ARGS__))
#define AT_DISPATCH_COMPLEX_TYPES_AND(type1, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__) \
                     AT_DISPATCH_CASE(type1, __VA_ARGS__))
#define AT_DISPATCH_COMPLEX_TYPES_AND2(type1, type2, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__) \
                     DTYPECHECK_CASES2(type1, type2, __VA_ARGS__))
#define AT_DISPATCH_COMPLEX_TYPES_AND3(type1, type2, type3, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__) \
                     DTYPECHECK_CASES3(type1, type2, type3, __VA_ARGS__))
#define AT_DISPATCH_COMPLEX_TYPES_AND4(type1, type2, type3, type4, type, name, ...) \
  AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__) \
                     DTYPECHECK_CASES4(type1, type2, type3, type4, __VA_ARGS__))

// AT_DISPATCH_V2: a body in AT_WRAP, then any number of dtypes, families among them in AT_EXPAND.
#define AT_WRAP(...) __VA_ARGS__
#define AT_EXPAND(types) types
#define AT_FLOATING_TYPES ::at::ScalarType::Double, ::at::ScalarType::Float
#define AT_COMPLEX_TYPES ::at::ScalarType::ComplexDouble, ::at::ScalarType::ComplexFloat
#define AT_INTEGRAL_TYPES                                                       \
  ::at::ScalarType::Byte, ::at::ScalarType::Char, ::at::ScalarType::Int,        \
      ::at::ScalarType::Long, ::at::ScalarType::Short
#define AT_ALL_TYPES AT_INTEGRAL_TYPES, AT_FLOATING_TYPES
#define AT_ALL_TYPES_AND_COMPLEX AT_ALL_TYPES, AT_COMPLEX_TYPES
// A macro does not call itself: each of these three lines goes over the cases four times.
#define DTYPECHECK_AGAIN(...) DTYPECHECK_AGAIN2(DTYPECHECK_AGAIN2(DTYPECHECK_AGAIN2(DTYPECHECK_AGAIN2(__VA_ARGS__))))
#define DTYPECHECK_AGAIN2(...) DTYPECHECK_AGAIN3(DTYPECHECK_AGAIN3(DTYPECHECK_AGAIN3(DTYPECHECK_AGAIN3(__VA_ARGS__))))
#define DTYPECHECK_AGAIN3(...) DTYPECHECK_SAME(DTYPECHECK_SAME(DTYPECHECK_SAME(DTYPECHECK_SAME(__VA_ARGS__))))
#define DTYPECHECK_SAME(...) __VA_ARGS__
#define DTYPECHECK_EMPTY()
#define DTYPECHECK_NEXT_CASES() DTYPECHECK_CASES
#define DTYPECHECK_CASES(body, type, ...)  \
  AT_DISPATCH_CASE(type, AT_WRAP body)    \
  __VA_OPT__(DTYPECHECK_NEXT_CASES DTYPECHECK_EMPTY()()(body, __VA_ARGS__))
#define AT_DISPATCH_V2(type, name, body, ...) \
  AT_DISPATCH_SWITCH(type, name, DTYPECHECK_AGAIN(DTYPECHECK_CASES((body), __VA_ARGS__)))
